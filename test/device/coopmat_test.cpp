// SPDX-License-Identifier: Apache-2.0
// Products and convolutions by cooperative matrices, where the device has them and the second
// compiler made kernels for them. The validation layers of Debian 12 do not know the extension.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "conv_case.hpp"
#include "matrices.hpp"

namespace spirkiln::test {
namespace {

using model::Op;

RunOptions options(const char* kernel) {
  RunOptions o{matrix_traits(), kernel, {}};
  o.only = {kFp16p, kFp16s};
  return o;
}

struct Product {
  std::uint32_t pixels, inputs, outputs;
};

// A depthwise convolution and the pointwise one that reads it.
struct Separable {
  Case window, point;
  oracle::Tensor between;
  Separable(const Dims& x, const Window& w, std::uint32_t cout, std::uint32_t seed)
      : window(conv_case(Op::kDepthwise, x, x.c, w, seed)),
        point(conv_case(Op::kConv, window.output, cout, {}, seed + 1)) {
    set_epilogue(activations(false)[seed % activations(false).size()]);
  }
  void set_epilogue(const model::Epilogue& epilogue) {
    window.node.epilogue = epilogue;
    between = oracle::run(window.node, window.inputs, window.consts, window.output);
    point.inputs[0] = between;
  }
  Result<Lowered> lower(const DeviceTraits& traits) const {
    std::vector<Dims> dims;
    for (const auto& t : point.inputs) dims.push_back(t.dims);
    return lower_separable({window.node, {window.inputs[0].dims}, window.output, traits},
                           {point.node, dims, point.output, traits});
  }
  // Both nodes' data as one's: the picture and the residual, and first the window's constants.
  Case bound() const {
    Case c = point;
    c.inputs[0] = window.inputs[0];
    c.consts.insert(c.consts.begin(), window.consts.begin(), window.consts.end());
    c.const_is_weight.insert(c.const_is_weight.begin(), window.const_is_weight.begin(),
                             window.const_is_weight.end());
    return c;
  }
};

// References as Separable::bound() has them.
Lowered rebound(Lowered lowered) {
  for (BufferRef& ref : lowered.dispatches.at(0).buffers) {
    if (ref.kind == BufferKind::kConst && ref.node == 1) ref.index += 3;
    ref.node = 0;
  }
  return lowered;
}

}  // namespace

TEST_CASE("matrices: pointwise convolutions", "[coopmat]") {
  need_matrices();
  // One row, whole matrices and blocks, what is no multiple of anything; few rows, where subgroups
  // share K; and enough of all for the largest tiles. (For less than 24 columns or a short K the
  // tiled form is chosen.)
  const Product products[] = {{1, 30, 24},     {16, 32, 32},   {32, 64, 32},    {7, 25, 29},
                              {33, 29, 30},    {131, 67, 131}, {64, 600, 23},   {40, 300, 60},
                              {200, 48, 33},   {300, 48, 96},  {70, 192, 24},   {65, 260, 400},
                              {6000, 24, 192}, {40, 120, 700}, {1000, 480, 48}, {480, 700, 60}};
  const auto all = activations(true);
  std::uint32_t k = 0;
  for (const Product& p : products) {
    INFO(p.pixels << " x " << p.inputs << " x " << p.outputs);
    RunOptions with = options("gemm_coopmat");
    with.activation = all[k % all.size()];
    check(conv_case(Op::kConv, {1, 1, p.pixels, p.inputs}, p.outputs, {}, 900 + k), with);
    ++k;
  }
}

TEST_CASE("matrices: sums are single precision", "[coopmat]") {
  need_matrices();
  // 600 * 512 * 0.75 = 230,400 is beyond half precision's range.
  Case c = conv_case(Op::kConv, {1, 1, 19, 600}, 22, {}, 7);
  for (double& v : c.inputs[0].v) v = 512;
  for (std::size_t i = 0; i < c.consts[0].size(); i++) c.consts[0][i] = i % 24 < 22 ? 0.75 : 0;
  for (double& v : c.consts[1]) v = 1.0 / 4096;
  RunOptions plain = options("gemm_coopmat");
  plain.activation = activations(false)[0];  // none, which would hide the sum
  check(c, plain);
  // 4096 + 600 small products: in half precision each of them is lost.
  for (std::size_t i = 0; i < c.inputs[0].v.size(); i++) c.inputs[0].v[i] = i % 600 == 0 ? 64 : 1;
  for (std::size_t i = 0; i < c.consts[0].size(); i++) {
    c.consts[0][i] = i % 24 >= 22 ? 0 : i < 24 ? 64 : 1;
  }
  check(c, plain);
}

TEST_CASE("matrices: dense convolutions", "[coopmat]") {
  need_matrices();
  struct Shape {
    const char* kernel;
    Dims x;
    std::uint32_t cout;
    Window w;
  };
  const Shape shapes[] = {
      {"window_coopmat", {1, 7, 11, 3}, 26, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}},
      {"window_coopmat", {2, 5, 9, 7}, 25, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}},
      {"window_coopmat", {1, 13, 11, 6}, 37, {3, 3, 1, 2, 2, 3, 1, 2, 2, 3}},
      {"window_coopmat", {3, 4, 5, 2}, 23, {4, 5, 3, 2, 3, 4, 3, 4, 1, 1}},
      {"window_coopmat", {1, 1, 40, 480}, 60, {1, 3, 1, 1, 0, 1, 0, 1, 1, 1}},
      // Channels of whole matrices, stride 1: the input is loaded once for all taps.
      {"conv_coopmat", {1, 30, 30, 96}, 24, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}},
      {"conv_coopmat", {2, 33, 47, 32}, 48, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}},
      {"conv_coopmat", {1, 1, 17, 16}, 24, {1, 3, 1, 1, 0, 1, 0, 1, 1, 1}},
      {"conv_coopmat", {1, 21, 19, 16}, 32, {5, 4, 1, 1, 2, 1, 2, 2, 1, 1}},
      {"conv_coopmat", {1, 9, 14, 32}, 40, {2, 2, 1, 1, 0, 0, 1, 1, 1, 1}},
      {"conv_coopmat", {1, 130, 250, 16}, 24, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}},
  };
  std::uint32_t k = 0;
  for (const Shape& s : shapes) {
    INFO("shape " << k);
    check(conv_case(Op::kConv, s.x, s.cout, s.w, 950 + k), options(s.kernel));
    ++k;
  }
}

TEST_CASE("matrices: transposed convolutions", "[coopmat]") {
  need_matrices();
  struct Shape {
    Dims x;
    std::uint32_t cout;
    std::int32_t kh, kw;
  };
  const Shape shapes[] = {{{1, 5, 7, 24}, 24, 2, 2},
                          {{2, 3, 11, 46}, 5, 2, 2},
                          {{1, 4, 3, 25}, 17, 3, 1},
                          {{1, 3, 5, 13}, 18, 1, 4},
                          {{1, 20, 31, 24}, 24, 2, 2}};
  std::uint32_t k = 0;
  for (const Shape& s : shapes) {
    INFO("shape " << k);
    check(conv_case(Op::kDeconv, s.x, s.cout, {s.kh, s.kw, s.kh, s.kw}, 980 + k),
          options("deconv_coopmat"));
    ++k;
  }
}

TEST_CASE("matrices: depthwise separable convolutions", "[coopmat]") {
  need_matrices();
  struct Shape {
    Dims x;
    Window w;
    std::uint32_t cout;
  };
  // Lines of whole runs and of single pixels, K and columns that are no whole matrices, one pixel,
  // strides, windows up to 5 x 5, several pictures, and enough of all for the largest tiles.
  const Shape shapes[] = {
      {{1, 1, 1, 16}, {3, 3, 1, 1, 1, 1, 1, 1}, 32},
      {{2, 9, 12, 24}, {3, 3, 1, 1, 1, 1, 1, 1}, 37},
      {{1, 7, 11, 29}, {3, 3, 2, 2, 1, 1, 1, 1}, 48},
      {{1, 20, 30, 120}, {5, 5, 1, 1, 2, 2, 2, 2}, 240},
      {{3, 8, 18, 48}, {5, 3, 2, 1, 0, 1, 3, 1}, 96},
      {{1, 33, 40, 192}, {5, 5, 1, 2, 2, 2, 2, 2}, 192},
      {{1, 60, 52, 16}, {3, 3, 1, 1, 1, 1, 1, 1}, 32},
      {{2, 3, 80, 240}, {5, 5, 1, 1, 2, 2, 2, 2}, 504},
      {{1, 130, 124, 32}, {3, 3, 1, 1, 1, 1, 1, 1}, 48},
      {{1, 16, 17, 192}, {4, 2, 1, 1, 1, 0, 2, 1}, 384},
  };
  const auto all = activations(true);
  std::uint32_t turn = 0;
  for (const Shape& shape : shapes) {
    const Separable pair(shape.x, shape.w, shape.cout, 1500 + 2 * turn);
    for (const Form form : {kFp16p, kFp16s}) {
      if (runner(form) == nullptr) continue;
      Separable formed = pair;
      const std::uint32_t way = (turn + (form == kFp16s ? 1 : 0)) % 3;
      formed.point.node.epilogue = all[turn % all.size()];
      if (way != 0) {
        formed.point.node.flags = model::kHasResidual | (way == 2 ? model::kResidualBefore : 0);
        formed.point.inputs.push_back(Maker(turn).tensor(formed.point.output));
      }
      INFO(form_name(form) << ", shape " << turn << ", residual " << way);
      const auto lowered = formed.lower(matrix_traits());
      if (!lowered) FAIL(lowered.error().message);
      CHECK(lowered->dispatches.at(0).kernel == "separable_coopmat");
      const Case& p = formed.point;
      check_lowered(rebound(*lowered), formed.bound(),
                    oracle::run(p.node, p.inputs, p.consts, p.output), form);
    }
    ++turn;
  }
}

TEST_CASE("what separable convolutions leave to two steps") {
  const DeviceTraits traits = nvidia_matrices();
  const Window three{3, 3, 1, 1, 1, 1, 1, 1};
  const Separable pair({1, 8, 12, 32}, three, 48, 1);
  CHECK(pair.lower(traits).ok());
  DeviceTraits other = traits;
  other.without = {"separable_coopmat"};
  CHECK_FALSE(pair.lower(other).ok());
  other = traits;
  other.matrix_m = 0;
  CHECK_FALSE(pair.lower(other).ok());
  other = traits;
  other.max_storage_buffers = 8;
  CHECK_FALSE(pair.lower(other).ok());
  other = traits;
  other.shared_bytes = 2048;
  CHECK_FALSE(pair.lower(other).ok());
  other = traits;
  other.max_invocations = 16;
  CHECK_FALSE(pair.lower(other).ok());
  CHECK_FALSE(Separable({1, 12, 12, 32}, {7, 7, 1, 1, 3, 3, 3, 3}, 48, 1).lower(traits).ok());
  CHECK_FALSE(Separable({1, 12, 12, 32}, {3, 3, 1, 1, 2, 2, 2, 2, 2, 2}, 48, 1).lower(traits).ok());
  CHECK_FALSE(Separable({1, 12, 12, 32}, three, 4, 1).lower(traits).ok());  // one vector
  Separable odd = pair;
  odd.window.node.epilogue.act = model::Activation::kSigmoid;
  CHECK_FALSE(odd.lower(traits).ok());
  odd = pair;
  odd.window.node.flags = model::kHasResidual;
  CHECK_FALSE(odd.lower(traits).ok());
  odd = pair;
  odd.point.node.i[0] = 3;
  CHECK_FALSE(odd.lower(traits).ok());
}

}  // namespace spirkiln::test
