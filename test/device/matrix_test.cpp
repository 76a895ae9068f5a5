// SPDX-License-Identifier: Apache-2.0
// Convolutions of every kind, on sizes that are no multiple of any tile.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "conv_case.hpp"
#include "graph/lower/tuning.hpp"

namespace spirkiln::test {
namespace {

using model::Op;

struct Path {
  const char* kernel;
  DeviceTraits traits;
  std::function<void(Lowered*)> edit;
};

// The grid is that of a narrower tile: what is too much of it ends at once.
void widest_tile(Lowered* l) {
  auto& specs = l->dispatches[0].specs;
  std::erase_if(specs, [](const SpecChoice& s) { return s.name == "tile_w"; });
  specs.push_back({"tile_w", tuning::built_in().gpu.depthwise_tile_line});
}

void set_direct(Lowered* l) { l->dispatches[0].axes = {{"DIRECT", "1"}}; }

}  // namespace

TEST_CASE("pointwise convolution is a matrix product", "[gemm]") {
  if (!device()) SKIP("no Vulkan device");
  const std::vector<Path> paths = {{"gemm_subgroup", device_traits(), {}},
                                   {"gemm_reg", plain_cpu_traits(), {}},
                                   {"gemm_nc", gpu_traits(), {}},
                                   {"gemm_nc", gpu_traits(), set_direct}};
  // Pixels, inputs, outputs: one, primes, above and below each tile.
  const Dims shapes[] = {{1, 1, 1, 1},    {1, 1, 7, 3}, {1, 5, 13, 17}, {2, 3, 11, 30},
                         {1, 1, 131, 67}, {3, 1, 1, 5}, {1, 9, 9, 64}};
  const std::uint32_t outs[] = {1, 2, 19, 15, 131, 6, 33};
  for (const Path& path : paths) {
    if (path.kernel == std::string("gemm_subgroup") && path.traits.subgroup_size != 8) continue;
    for (std::size_t s = 0; s < std::size(shapes); s++) {
      INFO("pixels " << shapes[s].pixels() << ", inputs " << shapes[s].c << ", outputs "
                     << outs[s]);
      check(conv_case(Op::kConv, shapes[s], outs[s], {}, static_cast<std::uint32_t>(100 + s)),
            {path.traits, path.kernel, path.edit,
             path.edit ? Forms::kFew : Forms::kBuffers});  // DIRECT differs in how tiles are loaded
    }
  }
}

TEST_CASE("sums beyond half precision's range are scaled before they are narrowed", "[gemm]") {
  if (!device()) SKIP("no Vulkan device");
  for (const Path& path :
       {Path{"gemm_subgroup", device_traits(), {}}, Path{"gemm_reg", plain_cpu_traits(), {}},
        Path{"gemm_nc", gpu_traits(), {}}}) {
    if (path.kernel == std::string("gemm_subgroup") && path.traits.subgroup_size != 8) continue;
    Case c = conv_case(Op::kConv, {1, 1, 9, 600}, 6, {}, 7);
    for (double& v : c.inputs[0].v) v = 512;  // sums of 600 * 512 * 0.75 = 230,400
    for (std::size_t i = 0; i < c.consts[0].size(); i++) c.consts[0][i] = i % 8 < 6 ? 0.75 : 0;
    for (double& v : c.consts[1]) v = 1.0 / 4096;
    RunOptions options{path.traits, path.kernel, {}};
    options.activation = activations(false)[0];  // none, which would hide the sum
    check(c, options);
  }
}

TEST_CASE("dense convolution", "[conv]") {
  if (!device()) SKIP("no Vulkan device");
  struct Shape {
    Dims x;
    std::uint32_t cout;
    Window w;
  };
  const Shape shapes[] = {
      {{1, 7, 11, 3}, 16, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}},
      {{2, 5, 9, 7}, 5, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}},
      {{1, 1, 17, 12}, 9, {1, 3, 1, 1, 0, 1, 0, 1, 1, 1}},
      {{1, 9, 10, 5}, 18, {5, 5, 1, 1, 2, 2, 2, 2, 1, 1}},
      {{1, 6, 6, 4}, 8, {2, 2, 1, 1, 0, 0, 1, 1, 1, 1}},  // padding on one side only
      {{1, 13, 11, 6}, 7, {3, 3, 1, 2, 2, 3, 1, 2, 2, 3}},  // dilation, uneven everything
      {{1, 8, 9, 9}, 11, {1, 1, 2, 1, 0, 0, 0, 0, 1, 1}},  // 1x1 with a stride
      {{1, 1, 1, 1}, 1, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}},
      {{3, 4, 5, 2}, 3, {4, 5, 3, 2, 3, 4, 3, 4, 1, 1}},  // a kernel as large as the picture
  };
  for (const Path& path :
       {Path{"conv_subgroup", device_traits(), {}}, Path{"conv_nc", gpu_traits(), {}},
        Path{"conv_direct", plain_cpu_traits(), {}}}) {
    if (path.kernel == std::string("conv_subgroup") && path.traits.subgroup_size != 8) continue;
    std::uint32_t k = 0;
    for (const Shape& s : shapes) {
      INFO("shape " << k);
      check(conv_case(Op::kConv, s.x, s.cout, s.w, 200 + k), {path.traits, path.kernel, {}});
      k++;
    }
  }
}

TEST_CASE("depthwise convolution", "[depthwise]") {
  if (!device()) SKIP("no Vulkan device");
  struct Shape {
    Dims x;
    Window w;
  };
  const Shape shapes[] = {
      {{1, 7, 11, 19}, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}},
      {{2, 9, 13, 6}, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}},
      {{1, 11, 8, 5}, {5, 5, 1, 1, 2, 2, 2, 2, 1, 1}},
      {{1, 12, 17, 4}, {5, 5, 2, 2, 2, 2, 2, 2, 1, 1}},
      {{1, 6, 23, 7}, {5, 5, 1, 2, 2, 2, 2, 2, 1, 1}},
      {{1, 6, 23, 7}, {3, 3, 2, 1, 1, 1, 1, 1, 1, 1}},
      {{1, 1, 19, 3}, {1, 5, 1, 1, 0, 2, 0, 2, 1, 1}},
      {{1, 13, 13, 8}, {3, 3, 1, 1, 2, 2, 2, 2, 2, 2}},
      {{1, 1, 1, 1}, {5, 5, 1, 1, 2, 2, 2, 2, 1, 1}},
      {{1, 10, 9, 2}, {7, 2, 3, 3, 1, 0, 2, 1, 1, 1}},
  };
  for (const bool gpu : {false, true}) {
    std::uint32_t k = 0;
    for (const Shape& s : shapes) {
      INFO("shape " << k);
      const bool line = gpu && s.w.sw <= 2;
      check(conv_case(Op::kDepthwise, s.x, s.x.c, s.w, 300 + k),
            {gpu ? gpu_traits() : plain_cpu_traits(), line ? "depthwise_line" : "depthwise", {}});
      // So little work gets the narrowest tile; the widest one has to be right, too.
      if (line && k < 4) {
        check(conv_case(Op::kDepthwise, s.x, s.x.c, s.w, 350 + k),
              {gpu_traits(), "depthwise_line", widest_tile, Forms::kFew});
      }
      k++;
    }
  }
}

TEST_CASE("transposed convolution with kernel and stride alike", "[deconv]") {
  if (!device()) SKIP("no Vulkan device");
  struct Shape {
    Dims x;
    std::uint32_t cout;
    std::int32_t kh, kw;
  };
  const Shape shapes[] = {{{1, 5, 7, 24}, 24, 2, 2},
                          {{2, 3, 11, 6}, 1, 2, 2},
                          {{1, 1, 1, 1}, 1, 2, 2},
                          {{1, 4, 3, 5}, 7, 3, 1},
                          {{1, 3, 5, 3}, 18, 1, 4}};
  for (const Path& path :
       {Path{"deconv_subgroup", device_traits(), {}}, Path{"deconv_nc", gpu_traits(), {}},
        Path{"deconv", plain_cpu_traits(), {}}}) {
    if (path.kernel == std::string("deconv_subgroup") && path.traits.subgroup_size != 8) continue;
    std::uint32_t k = 0;
    for (const Shape& s : shapes) {
      INFO("shape " << k);
      check(conv_case(Op::kDeconv, s.x, s.cout, {s.kh, s.kw, s.kh, s.kw}, 400 + k),
            {path.traits, path.kernel, {}});
      k++;
    }
  }
}

}  // namespace spirkiln::test
