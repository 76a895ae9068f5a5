// SPDX-License-Identifier: Apache-2.0
// Pooling, the global mean, the squeeze-and-excite gate.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "harness.hpp"

namespace spirkiln::test {

using model::Op;

TEST_CASE("pooling", "[pool]") {
  if (!device()) SKIP("no Vulkan device");
  struct Shape {
    Dims x;
    std::int32_t kh, kw, sh, sw, top, left, bottom, right;
  };
  const Shape shapes[] = {
      {{1, 6, 10, 16}, 2, 2, 2, 2, 0, 0, 0, 0}, {{2, 7, 11, 5}, 2, 2, 1, 1, 0, 0, 1, 1},
      {{1, 3, 13, 30}, 3, 2, 3, 2, 0, 0, 0, 0}, {{1, 9, 8, 3}, 3, 3, 2, 2, 1, 1, 1, 1},
      {{1, 1, 1, 1}, 1, 1, 1, 1, 0, 0, 0, 0},   {{1, 5, 5, 7}, 5, 5, 1, 1, 2, 2, 2, 2}};
  for (Op op : {Op::kMaxPool, Op::kAvgPool}) {
    for (std::int32_t count_padding : {0, 1}) {
      std::uint32_t k = 0;
      for (const Shape& s : shapes) {
        Maker make(500 + k);
        Case c;
        c.node.op = op;
        const std::int32_t i[] = {s.kh,   s.kw,     s.sh,    s.sw,         s.top,
                                  s.left, s.bottom, s.right, count_padding};
        std::copy(std::begin(i), std::end(i), c.node.i);
        c.inputs = {make.tensor(s.x)};
        c.output = {s.x.n,
                    (s.x.h + static_cast<std::uint32_t>(s.top + s.bottom - s.kh)) /
                            static_cast<std::uint32_t>(s.sh) +
                        1,
                    (s.x.w + static_cast<std::uint32_t>(s.left + s.right - s.kw)) /
                            static_cast<std::uint32_t>(s.sw) +
                        1,
                    s.x.c};
        INFO("shape " << k);
        check(c, {device_traits(), op == Op::kMaxPool ? "pool_max" : "pool_avg", {}});
        k++;
      }
    }
  }
}

TEST_CASE("global mean in two phases", "[mean]") {
  if (!device()) SKIP("no Vulkan device");
  const Dims shapes[] = {{1, 1, 1, 1},    {1, 7, 9, 5},   {2, 8, 8, 16},
                         {3, 13, 17, 30}, {1, 1, 129, 3}, {1, 61, 67, 2}};
  std::uint32_t k = 0;
  for (const Dims& x : shapes) {
    Maker make(600 + k);
    Case c;
    c.node.op = Op::kGlobalMean;
    c.inputs = {make.tensor(x)};
    c.output = {x.n, 1, 1, x.c};
    INFO("shape " << k);
    check(c, {device_traits(), "mean_final", {}});
    check(c, {gpu_traits(), "mean_final", {}});
    k++;
  }
}

TEST_CASE("mean of values that sum to more than half precision holds", "[mean]") {
  if (!device()) SKIP("no Vulkan device");
  Maker make(650);
  Case c;
  c.node.op = Op::kGlobalMean;
  c.inputs = {make.tensor({1, 31, 33, 5})};
  for (double& v : c.inputs[0].v) v = v * 64 + 128;  // about 130,000 in all
  c.output = {1, 1, 1, 5};
  RunOptions options{device_traits(), "mean_final", {}};
  options.activation = activations(false)[0];  // none, which would hide the mean
  check(c, options);
}

namespace {

struct GateShape {
  std::uint32_t n, cin, cmid, cout;
};

// With inputs yet to come.
Case gate_case(const GateShape& s, model::Activation act, float a, float b, Maker& make) {
  Case c;
  c.node.op = Op::kSqueezeExcite;
  c.node.i[10] = static_cast<std::int32_t>(s.cin);
  c.node.i[11] = static_cast<std::int32_t>(s.cout);
  c.node.i[12] = static_cast<std::int32_t>(s.cmid);
  c.node.i[13] = static_cast<std::int32_t>(act);
  c.node.f[0] = a;
  c.node.f[1] = b;
  const auto pad4 = [](std::uint32_t v) { return (v + 3) / 4 * 4; };
  c.consts = {make.weights(pad4(s.cin), s.cmid, [&](std::uint64_t r) { return r < s.cin; }),
              make.vector(s.cmid, 0.25, 1),
              make.vector(s.cmid, -1, 1),
              make.weights(pad4(s.cmid), s.cout, [&](std::uint64_t r) { return r < s.cmid; }),
              make.vector(s.cout, 0.25, 1),
              make.vector(s.cout, -1, 1)};
  c.const_is_weight = {true, false, false, true, false, false};
  c.output = {s.n, 1, 1, s.cout};
  return c;
}

// Pixels in pairs around a value that every form holds, so that the mean is one, too.
oracle::Tensor pixels_around(const oracle::Tensor& mean, const Dims& x, Maker& make) {
  oracle::Tensor pixels = make.tensor(x);
  const std::uint64_t hw = std::uint64_t{x.h} * x.w;
  for (std::uint64_t p = 0; p < x.pixels(); p++) {
    const std::uint64_t at = p % hw;
    for (std::uint32_t i = 0; i < x.c; i++) {
      const double middle = mean.v[p / hw * x.c + i];
      double& v = pixels.v[p * x.c + i];
      if (at == hw - 1 && at % 2 == 0) {
        v = middle;
      } else if (at % 2 == 0) {
        v = std::round((middle + v) * 512) / 512;
      } else {
        v = 2 * middle - pixels.v[(p - 1) * x.c + i];
      }
    }
  }
  return pixels;
}

model::Node mean_of_pixels() {
  model::Node node{};
  node.op = Op::kGlobalMean;
  node.epilogue.post_scale = 1;
  return node;
}

}  // namespace

TEST_CASE("squeeze-and-excite gate", "[squeeze_excite]") {
  if (!device()) SKIP("no Vulkan device");
  const GateShape shapes[] = {{1, 1, 1, 1},    {2, 16, 4, 16},  {1, 30, 7, 30},
                              {3, 67, 17, 67}, {1, 131, 33, 5}, {2, 1029, 3, 6}};
  std::uint32_t k = 0;
  for (const GateShape& s : shapes) {
    for (const auto& [act, a, b] : {std::tuple{model::Activation::kRelu, 0.f, 0.f},
                                    std::tuple{model::Activation::kHardSwish, 1.f / 6, 0.5f}}) {
      Maker make(700 + k);
      Case c = gate_case(s, act, a, b, make);
      c.inputs = {make.tensor({s.n, 1, 1, s.cin})};
      INFO("shape " << k);
      // More than 1024 channels do not fit its workgroup memory: two matrix products.
      const char* expected = s.cin > 1024 ? "" : "squeeze_excite";
      check(c, {device_traits(), expected, {}});
      check(c, {gpu_traits(), expected, {}});
      DeviceTraits few = device_traits();
      few.max_storage_buffers = 8;  // two matrix products
      check(c, {few, "", {}});
      k++;
    }
  }
}

TEST_CASE("squeeze-and-excite takes the mean along", "[squeeze_excite]") {
  if (!device()) SKIP("no Vulkan device");
  struct Shape {
    std::uint32_t h, w;
    GateShape gate;
    std::size_t dispatches;
  };
  // From one pixel to what mean_partial has to begin.
  const Shape shapes[] = {{1, 1, {1, 5, 2, 5}, 1},
                          {3, 5, {2, 16, 4, 16}, 1},
                          {17, 31, {3, 67, 17, 67}, 1},
                          {2, 2, {1, 1000, 3, 6}, 1},
                          {97, 90, {2, 19, 5, 19}, 2}};
  std::size_t turn = 0;
  for (const Shape& s : shapes) {
    Maker make(static_cast<std::uint32_t>(760 + turn));
    Case c = gate_case(s.gate, model::Activation::kRelu, 0, 0, make);
    c.node.epilogue = activations(false)[turn % 5];
    const Dims x{s.gate.n, s.h, s.w, s.gate.cin};
    const oracle::Tensor mean = make.tensor({x.n, 1, 1, x.c});
    const oracle::Tensor pixels = pixels_around(mean, x, make);
    model::Node mean_node = mean_of_pixels();
    const DeviceTraits traits = gpu_traits();
    const auto lowered =
        lower_gate({mean_node, {x}, mean.dims, traits}, {c.node, {mean.dims}, c.output, traits});
    if (!lowered) FAIL(lowered.error().message);
    INFO("shape " << turn);
    CHECK(lowered->dispatches.size() == s.dispatches);
    c.inputs = {mean};
    const oracle::Tensor want = oracle::run(c.node, c.inputs, c.consts, c.output);
    c.inputs = {pixels};
    for (const Form form : forms_for(Forms::kBuffers, turn)) {
      INFO(form_name(form));
      check_lowered(*lowered, c, want, form);
    }
    // A CPU driver, few bindings or an epilogue of the mean: two nodes.
    CHECK_FALSE(lower_gate({mean_node, {x}, mean.dims, plain_cpu_traits()},
                           {c.node, {mean.dims}, c.output, plain_cpu_traits()}));
    DeviceTraits few = traits;
    few.max_storage_buffers = 9;
    CHECK_FALSE(lower_gate({mean_node, {x}, mean.dims, few}, {c.node, {mean.dims}, c.output, few}));
    mean_node.epilogue.act = model::Activation::kRelu;
    CHECK_FALSE(
        lower_gate({mean_node, {x}, mean.dims, traits}, {c.node, {mean.dims}, c.output, traits}));
    turn++;
  }
}

TEST_CASE("squeeze-and-excite takes mean and product along", "[squeeze_excite]") {
  if (!device()) SKIP("no Vulkan device");
  struct Shape {
    std::uint32_t h, w;
    GateShape gate;
    std::uint32_t groups;  // at least, of a picture
    bool halves = false;   // squeeze, then excite
  };
  const Shape shapes[] = {{1, 1, {1, 5, 2, 5}, 1},
                          {3, 5, {2, 16, 4, 16}, 1},
                          {17, 23, {3, 67, 17, 67}, 2},
                          {40, 51, {1, 9, 33, 9}, 2},
                          {2, 2, {1, 1000, 3, 1000}, 1},
                          // The same shapes in two steps, and one of several pieces and slices.
                          {1, 1, {1, 5, 2, 5}, 1, true},
                          {17, 23, {3, 67, 17, 67}, 2, true},
                          {2, 2, {2, 1000, 3, 1000}, 1, true},
                          {3, 4, {1, 37, 1023, 37}, 1, true},
                          {41, 61, {2, 70, 30, 70}, 2, true}};
  std::size_t turn = 0;
  const auto lines = activations(false);
  for (const Shape& s : shapes) {
    Maker make(static_cast<std::uint32_t>(780 + turn));
    Case c = gate_case(s.gate, model::Activation::kRelu, 0, 0, make);
    c.node.epilogue = lines[(turn + 1) % lines.size()];
    const Dims x{s.gate.n, s.h, s.w, s.gate.cin};
    const oracle::Tensor mean = make.tensor({x.n, 1, 1, x.c});
    const oracle::Tensor pixels = pixels_around(mean, x, make);
    const oracle::Tensor gate = oracle::run(c.node, {mean}, c.consts, c.output);
    Case product;
    product.node.op = Op::kBinary;
    product.node.i[0] = static_cast<std::int32_t>(model::BinaryOp::kMul);
    product.inputs = {pixels, gate};
    product.output = x;
    product.consts = c.consts;
    product.const_is_weight = c.const_is_weight;
    DeviceTraits traits = gpu_traits();
    if (s.halves) traits.without = {"squeeze_excite_scale"};
    const model::Node mean_node = mean_of_pixels();
    const LowerRequest mean_request{mean_node, {x}, mean.dims, traits};
    std::size_t number = 0;
    for (const Form form : forms_for(Forms::kFew, turn)) {
      if (runner(form) == nullptr) continue;
      // Each form another of the three ways of a residual.
      Case formed = product;
      const std::size_t way = (turn + number++) % 3;
      formed.node.epilogue = lines[turn % lines.size()];
      if (way != 0) {
        formed.node.flags = model::kHasResidual | (way == 2 ? model::kResidualBefore : 0);
        formed.inputs.push_back(make.tensor(x));
      }
      INFO(form_name(form) << ", shape " << turn << ", residual " << way);
      std::vector<Dims> dims;
      for (const auto& t : formed.inputs) dims.push_back(t.dims);
      const auto lowered = lower_scale(mean_request, {c.node, {mean.dims}, c.output, traits},
                                       {formed.node, dims, x, traits});
      if (!lowered) FAIL(lowered.error().message);
      if (s.halves) {
        REQUIRE(lowered->dispatches.size() == 2);
        CHECK(lowered->dispatches[0].kernel == "squeeze");
        CHECK(lowered->dispatches[1].kernel == "excite");
      } else {
        CHECK(lowered->dispatches.at(0).kernel == "squeeze_excite_scale");
        CHECK(lowered->dispatches.at(0).groups[0] >= s.groups);
      }
      oracle::Tensor want = oracle::run(formed.node, formed.inputs, {}, x);
      // What rounding does to the gate, through an activation of a slope of two at most.
      for (std::uint64_t i = 0; i < want.mag.size(); i++) {
        const std::uint64_t g = i / (std::uint64_t{x.h} * x.w * x.c) * x.c + i % x.c;
        want.mag[i] += 2 * std::abs(pixels.v[i] * formed.node.epilogue.post_scale) * gate.mag[g];
      }
      // The gate is no buffer: what is bound are the pixels and the residual.
      formed.inputs.erase(formed.inputs.begin() + 1);
      Lowered bound = *lowered;
      for (Dispatch& d : bound.dispatches) {
        for (BufferRef& ref : d.buffers) {
          if (ref.kind == BufferKind::kInput && ref.index == 2) ref.index = 1;
        }
      }
      check_lowered(bound, formed, want, form);
    }
    turn++;
  }
}

TEST_CASE("how many steps mean, gate and product are", "[squeeze_excite]") {
  Maker make(790);
  const Dims x{1, 4, 4, 8};
  // 0: not fused.
  const auto steps = [&](Case gate, model::BinaryOp op, const Dims& picture,
                         const DeviceTraits& traits) {
    const Dims mean{picture.n, 1, 1, picture.c};
    model::Node product{};
    product.op = Op::kBinary;
    product.i[0] = static_cast<std::int32_t>(op);
    const model::Node mean_node = mean_of_pixels();
    const auto lowered =
        lower_scale({mean_node, {picture}, mean, traits}, {gate.node, {mean}, gate.output, traits},
                    {product, {picture, gate.output}, picture, traits});
    return lowered ? lowered->dispatches.size() : 0;
  };
  const Case gate = gate_case({1, 8, 2, 8}, model::Activation::kRelu, 0, 0, make);
  const DeviceTraits traits = gpu_traits();
  CHECK(steps(gate, model::BinaryOp::kMul, x, traits) == 1);
  CHECK(steps(gate, model::BinaryOp::kAdd, x, traits) == 0);
  CHECK(steps(gate, model::BinaryOp::kMul, {1, 400, 400, 8}, traits) == 2);
  CHECK(steps(gate, model::BinaryOp::kMul, x, plain_cpu_traits()) == 0);
  DeviceTraits without = traits;
  without.without = {"squeeze_excite_scale"};
  CHECK(steps(gate, model::BinaryOp::kMul, x, without) == 2);
  without.without.push_back("excite");
  CHECK(steps(gate, model::BinaryOp::kMul, x, without) == 0);
  without = traits;
  without.max_group_count[2] = 1;
  CHECK(steps(gate, model::BinaryOp::kMul, {2, 400, 400, 8}, without) == 0);
  Case residual = gate;
  residual.node.flags = model::kHasResidual;
  CHECK(steps(residual, model::BinaryOp::kMul, x, traits) == 0);
  Case sigmoid = gate;
  sigmoid.node.epilogue.act = model::Activation::kSigmoid;
  CHECK(steps(sigmoid, model::BinaryOp::kMul, x, traits) == 0);
}

}  // namespace spirkiln::test
