// SPDX-License-Identifier: Apache-2.0
// Graphs on the CPU backend, every operator by itself on odd sizes, against the double-precision
// interpreter.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <thread>

#include "cpu/activation.hpp"
#include "cpu/cpu_graph.hpp"
#include "cpu/loops.hpp"
#include "reference_graph.hpp"
#include "support/pack_builder.hpp"
#include "support/table_writer.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using namespace spirkiln::model;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Shape {
  std::uint32_t n, h, w;
};

std::vector<std::uint8_t> noise(const Shape& s) {
  std::vector<std::uint8_t> px(std::size_t{4} * s.n * s.h * s.w);
  std::uint32_t state = s.n * 73 + s.h * 31 + s.w;
  for (std::size_t i = 0; i < px.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    px[i] = static_cast<std::uint8_t>(state >> 24);
    if (i % 4 == 3) px[i] = i % 28 == 3 ? 0 : 255;  // some pixels do not count
  }
  return px;
}

// Of mixed signs, and other ones at each call.
std::vector<float> numbers(std::size_t n, float size = 1.0f) {
  static std::uint32_t state = 1;
  std::vector<float> v(n);
  for (float& x : v) {
    state = state * 1664525u + 1013904223u;
    x = (static_cast<float>(state >> 8) / 8388608.0f - 1.0f) * size;
  }
  return v;
}

int pad4(int c) { return (c + 3) / 4 * 4; }

Model model_of(const PackBuilder& pack) {
  auto model = Model::from_bytes(pack.build(), "test pack");
  if (!model) FAIL(model.error().message);
  return *model;
}

std::unique_ptr<cpu::CpuGraph> graph_of(const PackBuilder& pack, int threads = 2,
                                        std::size_t max_plans = 32) {
  GraphOptions options;
  options.max_plans = max_plans;
  auto graph = cpu::CpuGraph::create(model_of(pack), options, threads);
  if (!graph) FAIL(graph.error().message);
  return *std::move(graph);
}

std::vector<TensorF32> run(cpu::CpuGraph& graph, const Shape& s) {
  const auto px = noise(s);
  auto out = graph.run({s.n, s.h, s.w, px}, nullptr);
  if (!out) FAIL(out.error().message);
  return *std::move(out);
}

// How far the outputs are from the interpreter's, as a share of the largest number of each.
void check(const PackBuilder& pack, const std::vector<Shape>& shapes, double limit = 1e-5) {
  const auto bytes = pack.build();
  std::vector<std::uint8_t> raw(bytes.size());
  std::memcpy(raw.data(), bytes.data(), raw.size());
  const ReferenceGraph reference(raw);
  const auto graph = graph_of(pack);
  for (const Shape& s : shapes) {
    INFO(s.n << "x" << s.h << "x" << s.w);
    const auto px = noise(s);
    const auto expected = reference.run(reference.normalise(
        px, static_cast<int>(s.n), static_cast<int>(s.h), static_cast<int>(s.w)));
    const auto got = run(*graph, s);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      REQUIRE(got[i].values.size() == expected[i].v.size());
      CHECK(static_cast<int>(got[i].n) == expected[i].n);
      CHECK(static_cast<int>(got[i].h) == expected[i].h);
      CHECK(static_cast<int>(got[i].w) == expected[i].w);
      CHECK(static_cast<int>(got[i].c) == expected[i].c);
      double worst = 0, largest = 0;
      for (std::size_t k = 0; k < got[i].values.size(); ++k) {
        worst = std::max(worst, std::abs(got[i].values[k] - expected[i].v[k]));
        largest = std::max(largest, std::abs(expected[i].v[k]));
      }
      REQUIRE(largest > 0);  // else nothing was compared
      CHECK(worst <= limit * largest);
    }
  }
}

// A graph of one operator behind a 1x1 convolution, which gives it channels and signs.
struct One {
  PackBuilder b;
  std::uint32_t h = b.h(), w = b.w();

  std::uint32_t source(int channels) {
    const auto t = b.tensor(b.n(), b.h(), b.w(), channels);
    const auto c = static_cast<std::size_t>(pad4(channels));
    b.node(Op::kConv, t, {b.input()},
           {b.weights(numbers(4 * c)), b.floats(numbers(c)), b.floats(numbers(c, 0.3f))},
           {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 3, channels});
    return t;
  }
  std::vector<std::uint32_t> weights(std::size_t rows, int out) {
    const auto c = static_cast<std::size_t>(pad4(out));
    return {b.weights(numbers(rows * c)), b.floats(numbers(c)), b.floats(numbers(c))};
  }
  std::vector<std::uint32_t> weights(int rows, int out) {
    return weights(static_cast<std::size_t>(rows), out);
  }
};

struct Window {
  int kh, kw, sh, sw, top, left, bottom, right, dh = 1, dw = 1;
};

constexpr Activation kActivations[] = {
    Activation::kNone,      Activation::kRelu,    Activation::kClip,  Activation::kHardSigmoid,
    Activation::kHardSwish, Activation::kSigmoid, Activation::kSwish, Activation::kGelu};

void set_activation(Node& node, Activation act) {
  node.epilogue = {act, act == Activation::kClip ? -0.5f : 0.16666667f, 0.5f, 1.0f, 0.0f};
}

void convolution(Op op, const Window& k, int in, int out, Activation act, std::uint32_t flags,
                 const std::vector<Shape>& shapes, bool odd_epilogue = false) {
  CAPTURE(op, k.kh, k.kw, k.sh, k.sw, in, out, act, flags);
  One one;
  PackBuilder& b = one.b;
  const auto x = one.source(in);
  const auto oh = b.windows(b.h(), k.top + k.bottom, (k.kh - 1) * k.dh + 1, k.sh);
  const auto ow = b.windows(b.w(), k.left + k.right, (k.kw - 1) * k.dw + 1, k.sw);
  const std::vector<std::int32_t> attributes = {k.kh,     k.kw,    k.sh, k.sw, k.top, k.left,
                                                k.bottom, k.right, k.dh, k.dw, in,    out};
  const int rows = k.kh * k.kw * (op == Op::kDepthwise ? 1 : pad4(in));
  std::vector<std::uint32_t> inputs = {x};
  if (flags != 0) {
    const auto r = b.tensor(b.n(), oh, ow, out);
    b.node(op, r, {x}, one.weights(rows, out), attributes);
    inputs.push_back(r);
  }
  const auto y = b.tensor(b.n(), oh, ow, out);
  Node& node = b.node(op, y, inputs, one.weights(rows, out), attributes);
  node.flags = flags;
  set_activation(node, act);
  if (odd_epilogue) {
    node.epilogue.a = 0.25f;
    node.epilogue.b = 0.4f;
    node.epilogue.post_scale = 1.5f;
    node.epilogue.post_bias = -0.25f;
  }
  b.output(y);
  check(b, shapes);
}

}  // namespace

TEST_CASE("cpu: convolutions of odd sizes") {
  const std::vector<Shape> shapes = {{1, 7, 9}, {2, 13, 5}, {1, 33, 31}};
  const auto none = Activation::kNone;
  for (const auto& [in, out] : {std::pair{3, 16}, {5, 7}, {18, 42}, {96, 24}, {17, 1}}) {
    convolution(Op::kConv, {1, 1, 1, 1, 0, 0, 0, 0}, in, out, none, 0, shapes);
    convolution(Op::kConv, {3, 3, 1, 1, 1, 1, 1, 1}, in, out, none, 0, shapes);
    convolution(Op::kConv, {3, 3, 2, 2, 1, 1, 1, 1}, in, out, none, 0, shapes);
  }
  convolution(Op::kConv, {1, 3, 1, 1, 0, 1, 0, 1}, 60, 61, none, 0, shapes);
  convolution(Op::kConv, {2, 2, 1, 1, 0, 0, 1, 1}, 8, 12, none, 0, shapes);
  convolution(Op::kConv, {3, 3, 2, 1, 1, 1, 1, 1}, 8, 12, none, 0, shapes);
  convolution(Op::kConv, {3, 3, 1, 1, 2, 2, 2, 2, 2, 2}, 6, 10, none, 0, shapes);
  convolution(Op::kConv, {1, 1, 2, 2, 0, 0, 0, 0}, 6, 10, none, 0, shapes);
}

TEST_CASE("cpu: depthwise convolutions of odd sizes") {
  const std::vector<Shape> shapes = {{1, 7, 9}, {2, 13, 6}, {1, 33, 31}};
  for (const int c : {3, 16, 42, 97}) {
    for (const Window& k : {Window{3, 3, 1, 1, 1, 1, 1, 1},
                            {3, 3, 2, 2, 1, 1, 1, 1},
                            {5, 5, 1, 1, 2, 2, 2, 2},
                            {5, 5, 2, 1, 2, 2, 2, 2},
                            {3, 3, 1, 2, 1, 1, 1, 1},
                            {1, 5, 1, 1, 0, 2, 0, 2}}) {
      convolution(Op::kDepthwise, k, c, c, Activation::kNone, 0, shapes);
    }
  }
}

TEST_CASE("cpu: every activation, with and without a residual") {
  const std::vector<Shape> shapes = {{1, 6, 11}};
  for (const Activation act : kActivations) {
    for (const std::uint32_t flags : {0u, 1u, 3u}) {
      for (const bool odd : {false, true}) {
        convolution(Op::kConv, {1, 1, 1, 1, 0, 0, 0, 0}, 12, 20, act, flags, shapes, odd);
        convolution(Op::kConv, {3, 3, 1, 1, 1, 1, 1, 1}, 12, 19, act, flags, shapes, odd);
        convolution(Op::kDepthwise, {3, 3, 1, 1, 1, 1, 1, 1}, 19, 19, act, flags, shapes, odd);
      }
    }
  }
}

TEST_CASE("cpu: transposed convolutions") {
  for (const auto& [kh, kw, in, out] :
       {std::tuple{2, 2, 24, 24}, {2, 2, 24, 1}, {3, 2, 5, 7}, {1, 4, 6, 3}}) {
    for (const std::uint32_t flags : {0u, 1u, 3u}) {
      CAPTURE(kh, kw, in, out, flags);
      One one;
      PackBuilder& b = one.b;
      const auto x = one.source(in);
      const auto oh = b.op(ExprOp::kMul, b.h(), b.num(kh));
      const auto ow = b.op(ExprOp::kMul, b.w(), b.num(kw));
      const std::vector<std::int32_t> attributes = {kh, kw, 0, 0, 0, 0, 0, 0, 0, 0, in, out};
      std::vector<std::uint32_t> inputs = {x};
      if (flags != 0) {
        const auto r = b.tensor(b.n(), oh, ow, out);
        b.node(Op::kDeconv, r, {x}, one.weights(pad4(in) * kh * kw, out), attributes);
        inputs.push_back(r);
      }
      const auto y = b.tensor(b.n(), oh, ow, out);
      Node& node = b.node(Op::kDeconv, y, inputs, one.weights(pad4(in) * kh * kw, out), attributes);
      node.flags = flags;
      set_activation(node, Activation::kSigmoid);
      b.output(y);
      check(b, {{1, 5, 7}, {3, 8, 3}});
    }
  }
}

TEST_CASE("cpu: pools") {
  for (const Op op : {Op::kMaxPool, Op::kAvgPool}) {
    for (const int counts : {0, 1}) {
      for (const Window& k : {Window{2, 2, 2, 2, 0, 0, 0, 0},
                              {3, 2, 3, 2, 0, 0, 0, 0},
                              {3, 3, 2, 2, 1, 1, 1, 1},
                              {2, 2, 1, 1, 0, 0, 1, 1}}) {
        CAPTURE(op, counts, k.kh, k.kw, k.sh, k.top);
        One one;
        PackBuilder& b = one.b;
        const auto x = one.source(13);
        const auto y = b.tensor(b.n(), b.windows(b.h(), k.top + k.bottom, k.kh, k.sh),
                                b.windows(b.w(), k.left + k.right, k.kw, k.sw), 13);
        b.node(op, y, {x}, {},
               {k.kh, k.kw, k.sh, k.sw, k.top, k.left, k.bottom, k.right,
                op == Op::kAvgPool ? counts : 0});
        b.output(y);
        check(b, {{1, 7, 9}, {2, 12, 5}});
      }
    }
  }
}

TEST_CASE("cpu: means and squeeze-excite") {
  for (const auto& [c, middle] : {std::pair{8, 2}, {96, 24}, {42, 5}}) {
    CAPTURE(c, middle);
    One one;
    PackBuilder& b = one.b;
    const auto x = one.source(c);
    const auto m = b.tensor(b.n(), b.num(1), b.num(1), c);
    b.node(Op::kGlobalMean, m, {x});
    const auto g = b.tensor(b.n(), b.num(1), b.num(1), c);
    auto consts = one.weights(pad4(c), middle);
    const auto second = one.weights(pad4(middle), c);
    consts.insert(consts.end(), second.begin(), second.end());
    Node& node =
        b.node(Op::kSqueezeExcite, g, {m}, consts, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, c, c, middle, 1});
    set_activation(node, Activation::kHardSigmoid);
    node.epilogue.post_bias = 1;
    const auto y = b.tensor(b.n(), b.h(), b.w(), c);
    b.node(Op::kBinary, y, {x, g}, {}, {2});
    b.output(y);
    b.output(m);
    check(b, {{1, 1, 1}, {2, 5, 3}, {1, 70, 93}});
  }
}

TEST_CASE("cpu: binary operators with every kind of second operand") {
  for (int op = 0; op < 4; ++op) {
    for (const int kind : {0, 1, 2}) {
      for (const std::uint32_t flags : {0u, 1u, 3u}) {
        CAPTURE(op, kind, flags);
        One one;
        PackBuilder& b = one.b;
        const auto x = one.source(13);
        // Away from zero, since it may divide.
        auto y = one.source(kind == 2 ? 1 : 13);
        const int c = kind == 2 ? 1 : 13;
        const auto away = b.tensor(b.n(), b.h(), b.w(), c);
        Node& sigmoid =
            b.node(Op::kAffine, away, {y},
                   {b.floats(std::vector<float>(static_cast<std::size_t>(pad4(c)), 1)),
                    b.floats(std::vector<float>(static_cast<std::size_t>(pad4(c)), 0))});
        sigmoid.epilogue = {Activation::kSigmoid, 0, 0, 1, 0.5f};
        y = away;
        if (kind == 1) {
          y = b.tensor(b.n(), b.num(1), b.num(1), 13);
          b.node(Op::kGlobalMean, y, {away});
        }
        std::vector<std::uint32_t> inputs = {x, y};
        if (flags != 0) inputs.push_back(x);  // which may not be written over
        const auto z = b.tensor(b.n(), b.h(), b.w(), 13);
        Node& node = b.node(Op::kBinary, z, inputs, {}, {op});
        node.flags = flags;
        set_activation(node, Activation::kSwish);
        b.output(z);
        check(b, {{1, 5, 7}, {2, 33, 40}});
      }
    }
  }
}

TEST_CASE("cpu: resize, affine and concat, with residuals") {
  for (const auto& [fy, fx] : {std::pair{2, 2}, {1, 3}, {8, 4}}) {
    for (const std::uint32_t flags : {0u, 1u, 3u}) {
      CAPTURE(fy, fx, flags);
      One one;
      PackBuilder& b = one.b;
      const auto x = one.source(11), other = one.source(6);
      const auto oh = b.op(ExprOp::kMul, b.h(), b.num(fy));
      const auto ow = b.op(ExprOp::kMul, b.w(), b.num(fx));
      const auto large = b.tensor(b.n(), oh, ow, 11);
      b.node(Op::kResize, large, {x}, {}, {fy, fx});
      const auto again = b.tensor(b.n(), oh, ow, 11);
      std::vector<std::uint32_t> inputs = {x};
      if (flags != 0) inputs.push_back(large);
      b.node(Op::kResize, again, inputs, {}, {fy, fx}).flags = flags;
      const auto joined = b.tensor(b.n(), b.h(), b.w(), 17);
      b.node(Op::kConcat, joined, {x, other}, {}, {2});
      const auto twice = b.tensor(b.n(), b.h(), b.w(), 17);
      inputs = {other, x};
      if (flags != 0) inputs.push_back(joined);
      b.node(Op::kConcat, twice, inputs, {}, {2}).flags = flags;
      const auto scaled = b.tensor(b.n(), b.h(), b.w(), 17);
      inputs = {twice};
      if (flags != 0) inputs.push_back(joined);
      Node& node =
          b.node(Op::kAffine, scaled, inputs, {b.floats(numbers(20)), b.floats(numbers(20))});
      node.flags = flags;
      set_activation(node, Activation::kRelu);
      b.output(again);
      b.output(scaled);
      check(b, {{1, 5, 7}, {2, 40, 33}});
    }
  }
}

TEST_CASE("cpu: enlarged inputs of a concat, some of which are read elsewhere, too") {
  for (const bool shared : {false, true}) {
    for (const std::uint32_t flags : {0u, 1u}) {
      CAPTURE(shared, flags);
      One one;
      PackBuilder& b = one.b;
      // Of 12 x 12 pixels a quarter, a third and all.
      const auto full = one.source(5);
      const auto pooled = [&](int factor) {
        const auto t = b.tensor(b.n(), b.op(ExprOp::kExactDiv, b.h(), b.num(factor)),
                                b.op(ExprOp::kExactDiv, b.w(), b.num(factor)), 5);
        b.node(Op::kMaxPool, t, {full}, {}, {factor, factor, factor, factor});
        return t;
      };
      const auto enlarged = [&](std::uint32_t t, int factor) {
        const auto large = b.tensor(b.n(), b.h(), b.w(), 5);
        b.node(Op::kResize, large, {t}, {}, {factor, factor});
        return large;
      };
      const auto four = enlarged(pooled(4), 4), three = enlarged(pooled(3), 3);
      const auto joined = b.tensor(b.n(), b.h(), b.w(), 15);
      std::vector<std::uint32_t> inputs = {four, full, three};
      if (flags != 0) inputs.push_back(one.source(15));
      b.node(Op::kConcat, joined, inputs, {}, {3}).flags = flags;
      b.output(joined);
      if (shared) b.output(three);
      check(b, {{1, 12, 24}, {2, 36, 12}});
    }
  }
}

TEST_CASE("cpu: layer norm, softmax and attention") {
  for (const auto& [heads, dim] : {std::pair{8, 15}, {1, 4}, {3, 7}}) {
    CAPTURE(heads, dim);
    One one;
    PackBuilder& b = one.b;
    // Attention is for lines: one row of pixels.
    b.constraint(b.h(), b.num(1), "one row");
    const int all = heads * dim;
    const auto qkv = one.source(3 * all);
    const auto out = b.tensor(b.n(), b.num(1), b.w(), all);
    b.node(Op::kAttention, out, {qkv}, {}, {heads, dim}).f[0] =
        1 / std::sqrt(static_cast<float>(dim));
    const auto normal = b.tensor(b.n(), b.num(1), b.w(), all);
    const auto c = static_cast<std::size_t>(pad4(all));
    b.node(Op::kLayerNorm, normal, {out}, {b.floats(numbers(c)), b.floats(numbers(c))}).f[0] =
        1e-5f;
    const auto probable = b.tensor(b.n(), b.num(1), b.w(), all);
    b.node(Op::kSoftmax, probable, {normal});
    b.output(out);
    b.output(probable);
    // A layer norm divides by a deviation that may be small.
    check(b, {{1, 1, 40}, {2, 1, 7}, {1, 1, 331}}, 4e-5);
  }
}

TEST_CASE("cpu: a graph of most operators, in any number of threads the same bits") {
  const PackBuilder pack = mixed_graph();
  check(pack, {{1, 7, 9}, {2, 2, 2}, {3, 33, 17}, {1, 64, 5}}, 2e-5);
  const auto one = graph_of(pack, 1), two = graph_of(pack, 2), five = graph_of(pack, 5);
  for (const Shape& s : {Shape{1, 90, 71}, {2, 150, 201}}) {
    const auto a = run(*one, s), b = run(*two, s), c = run(*five, s);
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(a[i].values == b[i].values);
      CHECK(a[i].values == c[i].values);
    }
  }
}

TEST_CASE("cpu: the same picture gives the same bits, whatever ran in between") {
  const auto graph = graph_of(mixed_graph(), 2, 2);
  const auto first = run(*graph, {2, 19, 23});
  for (const Shape& s : {Shape{1, 5, 5}, {1, 90, 70}, {4, 8, 8}, {1, 6, 200}}) run(*graph, s);
  const auto again = run(*graph, {2, 19, 23});
  REQUIRE(first.size() == again.size());
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(first[i].values == again[i].values);
}

TEST_CASE("cpu: memory is bound by the largest shape, not by the number of shapes") {
  const auto largest = graph_of(mixed_graph());
  run(*largest, {2, 90, 90});
  const auto graph = graph_of(mixed_graph(), 2, 4);
  for (std::uint32_t i = 0; i < 80; ++i) run(*graph, {1 + i % 2, 10 + i, 90 - i});
  run(*graph, {2, 90, 90});
  // Four layouts of a few kilobytes of weights at most.
  CHECK(graph->bytes() <= largest->bytes() * 5 / 4);
  RunTimings timings;
  const auto px = noise({2, 90, 90});
  REQUIRE(graph->run({2, 90, 90, px}, &timings));
  CHECK(timings.plan_ms == 0);  // the plan of before
  CHECK(timings.dispatches > 5);
}

TEST_CASE("cpu: shapes that cannot be run are refused, and the graph stays usable") {
  const auto graph = graph_of(mixed_graph());
  const auto before = run(*graph, {1, 16, 16});
  const auto constraint = graph->prepare({1, 1, 16}, nullptr);
  REQUIRE_FALSE(constraint);
  CHECK_THAT(constraint.error().message, ContainsSubstring("at least two rows"));
  // One of its tensors has 32 GB.
  const auto huge = graph->prepare({1, 26000, 26000}, nullptr);
  if (huge) {
    WARN("this machine has the memory for it");
  } else {
    CHECK(huge.error().code == ErrorCode::kOutOfMemory);
    CHECK_THAT(huge.error().message, ContainsSubstring("smaller picture"));
  }
  CHECK(run(*graph, {1, 16, 16})[0].values == before[0].values);
}

TEST_CASE("cpu: a number that is none is an error that names the node") {
  One one;
  PackBuilder& b = one.b;
  const auto x = one.source(8);
  const auto zero = b.tensor(b.n(), b.h(), b.w(), 8);
  b.node(Op::kAffine, zero, {x},
         {b.floats(std::vector<float>(8, 0)), b.floats(std::vector<float>(8, 0))});
  const auto quotient = b.tensor(b.n(), b.h(), b.w(), 8);
  b.node(Op::kBinary, quotient, {x, zero}, {}, {3});
  const auto after = b.tensor(b.n(), b.h(), b.w(), 8);
  b.node(Op::kBinary, after, {quotient, x}, {}, {0});
  b.output(after);
  const auto graph = graph_of(b);
  const auto px = noise({2, 5, 6});
  const auto out = graph->run({2, 5, 6, px}, nullptr);
  REQUIRE_FALSE(out);
  CHECK(out.error().code == ErrorCode::kNotFinite);
  CHECK_THAT(out.error().message, ContainsSubstring("picture 0") &&
                                      ContainsSubstring("first made by node 2 (binary n2)"));
}

TEST_CASE("cpu: weights that leave fp32 with their scale are refused") {
  One one;
  PackBuilder& b = one.b;
  const auto y = b.tensor(b.n(), b.h(), b.w(), 4);
  b.node(Op::kConv, y, {b.input()},
         {b.weights(std::vector<float>(16, 60000)), b.floats(std::vector<float>(4, 1e38f)),
          b.floats(std::vector<float>(4, 0))},
         {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 3, 4});
  b.output(y);
  const auto graph = cpu::CpuGraph::create(model_of(b), {}, 1);
  REQUIRE_FALSE(graph);
  CHECK(graph.error().code == ErrorCode::kNotFinite);
  CHECK_THAT(graph.error().message, ContainsSubstring("n0"));
}

TEST_CASE("cpu: damaged packs whose checksum fits end in an error or a result") {
  const auto whole = mixed_graph().build();
  std::uint32_t state = 7;
  int opened = 0, ran = 0;
  for (int i = 0; i < 300; ++i) {
    auto bytes = whole;
    state = state * 1664525u + 1013904223u;
    // Behind the header, where nearly any flip is refused.
    const std::size_t at =
        sizeof(ModelHeader) + (state >> 8) % (bytes.size() - sizeof(ModelHeader));
    bytes[at] ^= static_cast<std::byte>(1u << (state >> 5) % 8);
    reseal_pack(bytes);
    const auto model = Model::from_bytes(std::move(bytes), "damaged");
    if (!model) continue;
    ++opened;
    const auto graph = cpu::CpuGraph::create(*model, {}, 1);
    if (!graph) continue;
    const auto px = noise({1, 7, 9});
    ran += (*graph)->run({1, 7, 9, px}, nullptr).ok() ? 1 : 0;
  }
  CHECK(opened > 20);  // else nothing was tried
  CHECK(ran > 10);
}

TEST_CASE("cpu: tasks are done once each, whoever does them") {
  for (const int threads : {1, 2, 7}) {
    for (const std::size_t tasks :
         {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{1000}}) {
      std::vector<std::atomic<int>> done(tasks);
      std::atomic<int> wrong{0};
      cpu::each_task(tasks, threads, [&](std::size_t i, int worker) {
        ++done[i];
        if (worker < 0 || worker >= threads) ++wrong;
      });
      CHECK(wrong == 0);
      CHECK(std::all_of(done.begin(), done.end(), [](const auto& n) { return n == 1; }));
    }
  }
  // What is thrown arrives, and the threads go on.
  CHECK_THROWS_AS(cpu::each_task(100, 4,
                                 [](std::size_t i, int) {
                                   if (i == 42) throw std::runtime_error("42");
                                 }),
                  std::runtime_error);
  // Several callers at a time: one has the threads, the others do without.
  std::atomic<int> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) cpu::each_task(20, 3, [&](std::size_t, int) { ++sum; });
    });
  }
  for (auto& caller : callers) caller.join();
  CHECK(sum == 4 * 200 * 20);
}

TEST_CASE("cpu: a child of fork runs graphs, too") {
  const auto graph = graph_of(mixed_graph(), 4);
  const auto before = run(*graph, {1, 90, 71});
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);  // ends a child that hangs
    const auto px = noise({1, 90, 71});
    const auto out = graph->run({1, 90, 71, px}, nullptr);
    ::_exit(out && (*out)[0].values == before[0].values ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("cpu: e^x and erf are as good as they say") {
  for (double x = -86; x < 87; x += 0.00917) {
    const auto v = static_cast<float>(x);
    const double wanted = std::exp(double{v});
    REQUIRE(std::abs(cpu::exp_of(v) - wanted) <= 4e-7 * wanted);
  }
  for (double x = -6; x < 6; x += 0.00131) {
    const auto v = static_cast<float>(x);
    REQUIRE(std::abs(cpu::erf_of(v) - std::erf(double{v})) <= 5e-7);
  }
  CHECK(std::isnan(cpu::exp_of(std::numeric_limits<float>::quiet_NaN())));
  CHECK(cpu::exp_of(-1e30f) < 1e-37f);
  CHECK(std::isfinite(cpu::exp_of(1e30f)));
}
