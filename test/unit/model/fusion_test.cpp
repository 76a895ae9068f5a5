// SPDX-License-Identifier: Apache-2.0
// Each fusion on a small graph: the number of nodes that are left, and the numbers they compute
// against arithmetic written out here.
#include "pack_helpers.hpp"

#include <cmath>

using namespace spirkiln::test;
using spirkiln::model::Activation;
using spirkiln::model::Op;

namespace {

double clamp(double v, double lo, double hi) { return std::fmin(std::fmax(v, lo), hi); }

// A pointwise convolution from "x" with its own weights, which hands out its exact result.
struct Pointwise {
  std::vector<float> w, b;
  int cout;
  std::string name;

  Pointwise(OnnxBuilder& g, std::uint32_t seed, int outs, const std::string& label,
            const std::string& from = "x", int ins = 3)
      : cout(outs), name(label), ins_(ins) {
    Numbers r(seed);
    w = r.floats(static_cast<std::size_t>(outs * ins));
    b = r.floats(static_cast<std::size_t>(outs));
    g.floats(label + ".w", {outs, ins, 1, 1}, w);
    g.floats(label + ".b", {outs}, b);
    g.node("Conv", {from, label + ".w", label + ".b"}, label);
  }
  RefTensor operator()(const RefTensor& x) const {
    RefTensor y(x.n, x.h, x.w, cout);
    for (std::size_t p = 0; p < x.v.size() / static_cast<std::size_t>(ins_); ++p) {
      for (int o = 0; o < cout; ++o) {
        double sum = b[static_cast<std::size_t>(o)];
        for (int i = 0; i < ins_; ++i) {
          sum += static_cast<double>(w[static_cast<std::size_t>(o * ins_ + i)]) *
                 x.v[p * static_cast<std::size_t>(ins_) + static_cast<std::size_t>(i)];
        }
        y.v[p * static_cast<std::size_t>(cout) + static_cast<std::size_t>(o)] = sum;
      }
    }
    return y;
  }

 private:
  int ins_;
};

void check_close(const RefTensor& got, const RefTensor& want, double tolerance = 2e-6) {
  REQUIRE(got.v.size() == want.v.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.v.size(); ++i) {
    worst = std::fmax(worst, std::fabs(got.v[i] - want.v[i]) / std::fmax(1, std::fabs(want.v[i])));
  }
  CHECK(worst <= tolerance);
}

template <typename F>
RefTensor map(RefTensor t, const F& f) {
  for (double& v : t.v) v = f(v);
  return t;
}

}  // namespace

TEST_CASE("hard swish is found wherever its constants stand", "[fusion]") {
  for (int form = 0; form < 5; ++form) {
    CAPTURE(form);
    OnnxBuilder g;
    const Pointwise conv(g, 3, 5, "c");
    g.floats("three", {}, {3});
    g.floats("six", {}, {6});
    g.floats("zero", {}, {0});
    g.floats("sixth", {}, {1.0F / 6});
    g.node("Add", {"three", "c"}, "a");
    g.node("Clip", {"a", "zero", "six"}, "k");
    switch (form) {
      case 0:
        g.node("Mul", {"c", "k"}, "m");
        g.node("Div", {"m", "six"}, "y");
        break;
      case 1:
        g.node("Div", {"k", "six"}, "m");
        g.node("Mul", {"m", "c"}, "y");
        break;
      case 2:
        g.node("Div", {"c", "six"}, "m");
        g.node("Mul", {"m", "k"}, "y");
        break;
      case 3:
        g.node("Mul", {"k", "sixth"}, "m");
        g.node("Mul", {"c", "m"}, "y");
        break;
      default:
        g.node("HardSigmoid", {"c"}, "m").f("alpha", 1.0F / 6);
        g.node("Mul", {"c", "m"}, "y");
    }
    g.output("y");
    const auto pack = packed(g);
    REQUIRE(pack.nodes().size() == 1);
    const auto& n = pack.nodes()[0];
    CHECK(n.op == Op::kConv);
    CHECK(n.epilogue.act == Activation::kHardSwish);
    CHECK(std::fabs(n.epilogue.post_scale - 1) < 1e-6);
    CHECK(pack.text(n.name) == "n:y");
    const auto x = random_input(9, 1, 3, 5);
    check_close(pack.run(x)[0], map(conv(x), [](double v) { return v * clamp(v + 3, 0, 6) / 6; }));
  }
}

TEST_CASE("what only looks like hard swish stays as it is", "[fusion]") {
  OnnxBuilder g;
  const Pointwise conv(g, 3, 5, "c");
  const Pointwise other(g, 4, 5, "d");
  g.floats("three", {}, {3});
  g.floats("six", {}, {6});
  g.floats("zero", {}, {0});
  g.node("Add", {"d", "three"}, "a");  // of another tensor
  g.node("Clip", {"a", "zero", "six"}, "k");
  g.node("Mul", {"c", "k"}, "y");
  g.output("y");
  const auto pack = packed(g);
  CHECK(pack.nodes().size() == 3);
  const auto x = random_input(9, 1, 2, 3);
  const auto p = conv(x), q = other(x);
  RefTensor want = p;
  for (std::size_t i = 0; i < want.v.size(); ++i) want.v[i] = p.v[i] * clamp(q.v[i] + 3, 0, 6);
  check_close(pack.run(x)[0], want);
}

TEST_CASE("swish and GELU become activations", "[fusion]") {
  const auto x = random_input(11, 2, 2, 3);
  {
    OnnxBuilder g;
    const Pointwise conv(g, 5, 4, "c");
    g.floats("one", {}, {1});
    g.node("Mul", {"c", "one"}, "i");
    g.node("Sigmoid", {"i"}, "s");
    g.node("Mul", {"c", "s"}, "y");
    g.output("y");
    const auto pack = packed(g);
    REQUIRE(pack.nodes().size() == 1);
    CHECK(pack.nodes()[0].epilogue.act == Activation::kSwish);
    check_close(pack.run(x)[0], map(conv(x), [](double v) { return v / (1 + std::exp(-v)); }));
  }
  {
    OnnxBuilder g;
    const Pointwise conv(g, 6, 4, "c");
    g.floats("root", {}, {1.41421356F});
    g.floats("one", {}, {1});
    g.floats("half", {}, {0.5F});
    g.node("Div", {"c", "root"}, "d");
    g.node("Erf", {"d"}, "e");
    g.node("Add", {"e", "one"}, "a");
    g.node("Mul", {"c", "a"}, "m");
    g.node("Mul", {"m", "half"}, "y");
    g.output("y");
    const auto pack = packed(g);
    REQUIRE(pack.nodes().size() == 1);
    CHECK(pack.nodes()[0].epilogue.act == Activation::kGelu);
    check_close(pack.run(x)[0],
                map(conv(x), [](double v) { return v * std::erfc(-v / std::sqrt(2.0)) / 2; }));
  }
}

TEST_CASE("sigmoid with another slope is no swish", "[fusion]") {
  OnnxBuilder g;
  const Pointwise conv(g, 5, 4, "c");
  g.floats("two", {}, {2});
  g.node("Mul", {"c", "two"}, "i");
  g.node("Sigmoid", {"i"}, "s");
  g.node("Mul", {"c", "s"}, "y");
  g.output("y");
  const auto pack = packed(g);
  CHECK(pack.nodes().size() == 3);
  const auto x = random_input(1, 1, 2, 2);
  check_close(pack.run(x)[0], map(conv(x), [](double v) { return v / (1 + std::exp(-2 * v)); }));
}

TEST_CASE("batch normalisation becomes scale and bias, never weights", "[fusion]") {
  OnnxBuilder g;
  const Pointwise conv(g, 8, 2, "c");
  // The variance that half precision cannot hold.
  const std::vector<float> gamma{0.7F, -1.3F}, beta{0.1F, 0.2F}, mean{3, -2},
      variance{97903600.0F, 0.004F};
  g.floats("g", {2}, gamma);
  g.floats("b", {2}, beta);
  g.floats("m", {2}, mean);
  g.floats("v", {2}, variance);
  g.node("BatchNormalization", {"c", "g", "b", "m", "v"}, "n").f("epsilon", 1e-5F);
  g.node("Relu", {"n"}, "y");
  g.output("y");
  const auto pack = packed(g);
  REQUIRE(pack.nodes().size() == 1);
  const auto x = random_input(2, 1, 3, 3);
  RefTensor want = conv(x);
  for (std::size_t i = 0; i < want.v.size(); ++i) {
    const std::size_t c = i % 2;
    const double epsilon = 1e-5F;
    want.v[i] =
        std::fmax(0, (want.v[i] - mean[c]) / std::sqrt(variance[c] + epsilon) * gamma[c] + beta[c]);
  }
  check_close(pack.run(x)[0], want);
  // Weights lie in [0.5, 1) at their largest whatever the normalisation.
  const auto w = pack.constants(pack.nodes()[0], RefWeights::kHiOnly)[0];
  double largest[2] = {0, 0};
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (i % 4 < 2) largest[i % 4] = std::fmax(largest[i % 4], std::fabs(w[i]));
  }
  for (const double l : largest) {
    CHECK(l >= 0.5);
    CHECK(l <= 1);
  }
}

TEST_CASE("one factor behind the activation is post scale, one a channel is a node", "[fusion]") {
  const auto x = random_input(4, 1, 2, 3);
  OnnxBuilder g;
  const Pointwise conv(g, 5, 3, "c");
  g.node("Relu", {"c"}, "r");
  g.floats("s", {1}, {1.5F});
  g.floats("t", {}, {-0.25F});
  g.node("Mul", {"s", "r"}, "m");
  g.node("Add", {"m", "t"}, "a");
  g.output("a");
  {
    const auto pack = packed(g);
    REQUIRE(pack.nodes().size() == 1);
    CHECK(pack.nodes()[0].epilogue.post_scale == 1.5F);
    CHECK(pack.nodes()[0].epilogue.post_bias == -0.25F);
    check_close(pack.run(x)[0],
                map(conv(x), [](double v) { return std::fmax(v, 0) * 1.5 - 0.25; }));
  }
  g.floats("k", {1, 3, 1, 1}, {2, 3, -4});
  g.node("Mul", {"a", "k"}, "y");
  g.graph().clear_output();
  g.output("y");
  const auto pack = packed(g);
  REQUIRE(pack.nodes().size() == 2);
  CHECK(pack.nodes()[1].op == Op::kAffine);
  RefTensor want = map(conv(x), [](double v) { return std::fmax(v, 0) * 1.5 - 0.25; });
  const double k[3] = {2, 3, -4};
  for (std::size_t i = 0; i < want.v.size(); ++i) want.v[i] *= k[i % 3];
  check_close(pack.run(x)[0], want);
}

TEST_CASE("additions become residuals, before or behind the activation", "[fusion]") {
  const auto x = random_input(4, 2, 3, 2);
  for (const bool before : {false, true}) {
    CAPTURE(before);
    OnnxBuilder g;
    const Pointwise first(g, 1, 5, "a");
    const Pointwise second(g, 2, 5, "b", "a", 5);
    std::string last = "b";
    if (!before) last = g.node("Sigmoid", {"b"}, "s");
    last = g.node("Add", {last, "a"}, "sum");
    if (before) last = g.node("Sigmoid", {"sum"}, "s");
    g.output(last);
    const auto pack = packed(g);
    REQUIRE(pack.nodes().size() == 2);
    CHECK(pack.nodes()[1].flags == (before ? 3u : 1u));
    const auto a = first(x), b = second(a);
    RefTensor want = a;
    for (std::size_t i = 0; i < want.v.size(); ++i) {
      const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
      want.v[i] = before ? sigmoid(a.v[i] + b.v[i]) : sigmoid(b.v[i]) + a.v[i];
    }
    check_close(pack.run(x)[0], want);
  }
}

TEST_CASE("a squeeze-excite block is a mean, a gate and a product", "[fusion]") {
  const auto x = random_input(4, 2, 4, 3);
  for (const bool plus_x : {false, true}) {
    CAPTURE(plus_x);
    OnnxBuilder g;
    const Pointwise conv(g, 1, 6, "c");
    g.node("GlobalAveragePool", {"c"}, "m");
    const Pointwise down(g, 2, 3, "d", "m", 6);
    g.node("Relu", {"d"}, "r");
    const Pointwise up(g, 3, 6, "u", "r", 3);
    g.node("HardSigmoid", {"u"}, "h").f("alpha", 0.2F).f("beta", 0.5F);
    g.node("Mul", {"c", "h"}, "p");
    std::string last = "p";
    if (plus_x) last = g.node("Add", {"c", "p"}, "y");
    g.output(last);
    const auto pack = packed(g);
    REQUIRE(pack.nodes().size() == 4);
    CHECK(pack.nodes()[1].op == Op::kGlobalMean);
    CHECK(pack.nodes()[2].op == Op::kSqueezeExcite);
    CHECK(pack.nodes()[3].op == Op::kBinary);
    CHECK(pack.nodes()[3].flags == 0);
    const auto c = conv(x);
    RefTensor mean(2, 1, 1, 6);
    for (int n = 0; n < 2; ++n)
      for (int h = 0; h < 4; ++h)
        for (int w = 0; w < 3; ++w)
          for (int k = 0; k < 6; ++k) mean.at(n, 0, 0, k) += c.at(n, h, w, k) / 12;
    const auto gate = map(up(map(down(mean), [](double v) { return std::fmax(v, 0); })),
                          [](double v) { return clamp(0.2F * v + 0.5F, 0, 1); });
    RefTensor want = c;
    for (int n = 0; n < 2; ++n)
      for (int h = 0; h < 4; ++h)
        for (int w = 0; w < 3; ++w)
          for (int k = 0; k < 6; ++k) {
            want.at(n, h, w, k) *= gate.at(n, 0, 0, k) + (plus_x ? 1 : 0);
          }
    check_close(pack.run(x)[0], want);
  }
}

TEST_CASE("layer normalisation, spelled out over a sequence", "[fusion]") {
  OnnxBuilder g(13, {-1, 3, 1, -1});
  const Pointwise conv(g, 1, 7, "c");
  g.ints("axes", {2});
  g.node("Squeeze", {"c", "axes"}, "q");
  g.node("Transpose", {"q"}, "t").is("perm", {0, 2, 1});
  g.node("ReduceMean", {"t"}, "mean").is("axes", {-1});
  g.node("Sub", {"t", "mean"}, "d");
  g.floats("two", {}, {2});
  g.node("Pow", {"d", "two"}, "p");
  g.node("ReduceMean", {"p"}, "var").is("axes", {-1});
  g.floats("eps", {}, {1e-3F});
  g.node("Add", {"var", "eps"}, "ve");
  g.node("Sqrt", {"ve"}, "std");
  g.node("Div", {"d", "std"}, "n");
  Numbers r(3);
  const auto gamma = r.floats(7), beta = r.floats(7);
  g.floats("gamma", {7}, gamma);
  g.floats("beta", {7}, beta);
  g.node("Mul", {"n", "gamma"}, "ng");
  g.node("Add", {"ng", "beta"}, "y");
  g.output("y");
  const auto pack = packed(g);
  REQUIRE(pack.nodes().size() == 2);
  CHECK(pack.nodes()[1].op == Op::kLayerNorm);
  const auto x = random_input(4, 2, 1, 5);
  RefTensor want = conv(x);
  for (std::size_t p = 0; p < want.v.size(); p += 7) {
    double mean = 0, var = 0;
    for (std::size_t k = 0; k < 7; ++k) mean += want.v[p + k];
    mean /= 7;
    for (std::size_t k = 0; k < 7; ++k) var += std::pow(want.v[p + k] - mean, 2);
    for (std::size_t k = 0; k < 7; ++k) {
      want.v[p + k] = (want.v[p + k] - mean) / std::sqrt(var / 7 + 1e-3F) * gamma[k] + beta[k];
    }
  }
  check_close(pack.run(x)[0], want, 1e-5);
}

TEST_CASE("an attention block is one node, and anything near it an error", "[fusion]") {
  // 2 heads of 3; the query is scaled, as exports do.
  const auto build = [](int key_start, std::vector<std::int64_t> back, bool projected = false) {
    OnnxBuilder g(9, {-1, 3, 1, -1});
    g.floats("w", {3, 18}, Numbers(5).floats(54));
    g.node("Squeeze", {"x"}, "q").is("axes", {2});
    g.node("Transpose", {"q"}, "t").is("perm", {0, 2, 1});
    g.node("MatMul", {"t", "w"}, "qkv");
    g.ints("five", {0, -1, 3, 2, 3});
    g.node("Reshape", {"qkv", "five"}, "r5");
    g.node("Transpose", {"r5"}, "t5").is("perm", {2, 0, 3, 1, 4});
    for (int i = 0; i < 3; ++i) {
      const int start = i == 1 ? key_start : i;
      const std::string id = std::to_string(i);
      g.node("Slice", {"t5"}, "s" + id)
          .is("axes", {0})
          .is("starts", {start})
          .is("ends", {start + 1});
      g.node("Squeeze", {"s" + id}, "p" + id).is("axes", {0});
    }
    g.floats("k", {}, {0.5F});
    g.node("Mul", {"p0", "k"}, "scaled");
    g.node("Transpose", {"p1"}, "kt").is("perm", {0, 1, 3, 2});
    g.node("MatMul", {"scaled", "kt"}, "scores");
    g.node("Softmax", {"scores"}, "probs").i("axis", 3);
    g.node("MatMul", {"probs", "p2"}, "mixed");
    g.node("Transpose", {"mixed"}, "tb").is("perm", back);
    g.ints("three", {0, -1, 6});
    g.node("Reshape", {"tb", "three"}, "y");
    if (projected) {
      g.floats("p", {6, 5}, Numbers(8).floats(30));
      g.node("MatMul", {"y", "p"}, "z");
    }
    g.output(projected ? "z" : "y");
    return g;
  };
  auto g = build(1, {0, 2, 1, 3});
  const auto pack = packed(g);
  REQUIRE(pack.nodes().size() == 2);
  CHECK(pack.nodes()[1].op == Op::kAttention);
  const auto x = random_input(6, 2, 1, 4);
  const auto w = Numbers(5).floats(54);
  const auto project = [&](int n, int t, int column) {
    double sum = 0;
    for (int c = 0; c < 3; ++c)
      sum += x.at(n, 0, t, c) * w[static_cast<std::size_t>(c * 18 + column)];
    return sum;
  };
  RefTensor want(2, 1, 4, 6);
  for (int n = 0; n < 2; ++n)
    for (int head = 0; head < 2; ++head)
      for (int t = 0; t < 4; ++t) {
        double p[4], total = 0;
        for (int s = 0; s < 4; ++s) {
          double dot = 0;
          for (int d = 0; d < 3; ++d) {
            dot += project(n, t, head * 3 + d) * 0.5 * project(n, s, 6 + head * 3 + d);
          }
          total += p[s] = std::exp(dot);
        }
        for (int d = 0; d < 3; ++d) {
          for (int s = 0; s < 4; ++s) {
            want.at(n, 0, t, head * 3 + d) += p[s] / total * project(n, s, 12 + head * 3 + d);
          }
        }
      }
  check_close(pack.run(x)[0], want);

  // Before a product, heads of 3 become whole vectors, and the product is what it was.
  auto before_product = build(1, {0, 2, 1, 3}, true);
  const auto wide = packed(before_product);
  REQUIRE(wide.nodes().size() == 3);
  CHECK(wide.nodes()[0].i[11] == 24);
  CHECK(wide.nodes()[1].i[1] == 4);
  CHECK(wide.nodes()[2].i[10] == 8);
  const auto p = Numbers(8).floats(30);
  RefTensor after(2, 1, 4, 5);
  for (int n = 0; n < 2; ++n)
    for (int t = 0; t < 4; ++t)
      for (int o = 0; o < 5; ++o)
        for (int c = 0; c < 6; ++c)
          after.at(n, 0, t, o) += want.at(n, 0, t, c) * p[static_cast<std::size_t>(c * 5 + o)];
  check_close(wide.run(x)[0], after);

  auto wrong_key = build(0, {0, 2, 1, 3});
  CHECK(contains(refused(wrong_key).message, "the key of this attention block"));
  // Without the transpose back, heads and steps cannot be merged without a copy.
  auto wrong_back = build(1, {0, 1, 2, 3});
  CHECK(contains(refused(wrong_back).message, "node 'n:y' (Reshape)"));
}

TEST_CASE("nodes that nobody reads are dropped, shared ones stay", "[fusion]") {
  OnnxBuilder g;
  const Pointwise conv(g, 1, 4, "c");
  g.node("Relu", {"c"}, "unused");
  g.node("Relu", {"c"}, "a");
  g.node("Sigmoid", {"c"}, "b");
  g.node("Add", {"a", "b"}, "y");
  g.output("y");
  const auto pack = packed(g);
  CHECK(pack.nodes().size() == 3);  // c is read twice: no epilogue may swallow it
  const auto x = random_input(4, 1, 2, 2);
  check_close(pack.run(x)[0],
              map(conv(x), [](double v) { return std::fmax(v, 0) + 1 / (1 + std::exp(-v)); }));
}

TEST_CASE("an output in the middle keeps its value", "[fusion]") {
  OnnxBuilder g;
  const Pointwise conv(g, 1, 4, "c");
  g.node("Relu", {"c"}, "y");
  g.output("c");
  g.output("y");
  const auto pack = packed(g);
  const auto x = random_input(4, 1, 2, 2);
  const auto out = pack.run(x);
  check_close(out[0], conv(x));
  check_close(out[1], map(conv(x), [](double v) { return std::fmax(v, 0); }));
}
