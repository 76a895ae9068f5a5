// SPDX-License-Identifier: Apache-2.0
// The matrix product by cooperative matrices, against the oracle, where the device has them. The
// table is the one in $SPIRKILN_COOPMAT_TABLE; without it variants/extra is baked here, which needs
// the second compiler (scripts/fetch-glslc.sh).
#include <stdlib.h>

#include <algorithm>
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "bake.hpp"
#include "harness.hpp"
#include "loader/device.hpp"
#include "second_compiler.hpp"

namespace spirkiln::test {
namespace {
namespace fs = std::filesystem;

constexpr int kSkipped = 77;  // what Meson counts as skipped
// As in variants/extra/gemm_coopmat.toml, preferred first.
constexpr std::pair<std::uint32_t, std::string_view> kSizes[] = {{16, "16"}, {8, "8"}};
constexpr std::string_view kSubgroupSizes[] = {"8", "16", "32", "64"};

int skip(const std::string& why) {
  std::fprintf(stderr, "skipped: %s\n", why.c_str());
  return kSkipped;
}

std::string_view subgroup_axis() {
  const auto it = std::find(std::begin(kSubgroupSizes), std::end(kSubgroupSizes),
                            std::to_string(device_traits().subgroup_size));
  return it == std::end(kSubgroupSizes) ? std::string_view() : *it;
}

bool multiplies(const DeviceCaps& caps, std::uint32_t size) {
  const MatrixShape wanted{size,        size,         size,         kMatrixHalf,
                           kMatrixHalf, kMatrixFloat, kMatrixFloat, false};
  const auto& has = caps.matrix_shapes;
  return std::find(has.begin(), has.end(), wanted) != has.end();
}

// The size that the device takes; null where it takes none.
const std::pair<std::uint32_t, std::string_view>* size_for(const DeviceCaps& caps) {
  for (const auto& size : kSizes) {
    if (multiplies(caps, size.first)) return &size;
  }
  return nullptr;
}

// What the device lacks for this kernel, or nothing.
std::string missing_on(const DeviceCaps& caps) {
  if (!caps.cooperative_matrix) return caps.name + " has no VK_KHR_cooperative_matrix";
  if (!caps.vulkan_memory_model || !caps.float16) {
    return caps.name + " lacks vulkanMemoryModel or shaderFloat16";
  }
  if (size_for(caps) != nullptr) return {};
  std::string text = caps.name + " multiplies no square matrices of halves into floats; it has";
  for (const MatrixShape& s : caps.matrix_shapes) {
    text += " " + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) +
            " (types " + std::to_string(s.a) + " " + std::to_string(s.b) + " " +
            std::to_string(s.c) + " " + std::to_string(s.result) + ")";
  }
  return text;
}

// A pointwise convolution as lowering makes it for a GPU, on the other kernel.
void use_matrices(Lowered* lowered) {
  Dispatch& d = lowered->dispatches.at(0);
  REQUIRE(d.kernel == "gemm_nc");
  std::erase_if(d.specs, [](const SpecChoice& s) { return s.name == "tile_k4"; });
  // rows, k4 and n4 are the last of the push constants.
  const std::uint32_t rows = d.push[d.push_words - 3], n4 = d.push[d.push_words - 1];
  const auto& [size, axis] = *size_for(device()->state()->caps);
  d.kernel = "gemm_coopmat";
  d.axes = {{"ncnn_subgroupSize", subgroup_axis()}, {"SIZE", axis}};
  d.local_size = {0, 0, 0};
  // A workgroup has two by two of them.
  const std::uint32_t lines = (rows - 1) / (2 * size) + 1;
  const std::uint32_t folds = lines > 3 ? 2 : 1;  // as beyond what a grid may have along y
  d.groups = {(n4 - 1) / (size / 2) + 1, (lines - 1) / folds + 1, folds};
}

struct Shape {
  std::uint32_t pixels, inputs, outputs;
};

Case product(const Shape& shape, std::uint32_t seed) {
  Maker make(seed);
  Case c;
  c.node.op = model::Op::kConv;
  const std::int32_t i[] = {1,
                            1,
                            1,
                            1,
                            0,
                            0,
                            0,
                            0,
                            1,
                            1,
                            static_cast<std::int32_t>(shape.inputs),
                            static_cast<std::int32_t>(shape.outputs)};
  std::copy(std::begin(i), std::end(i), c.node.i);
  c.inputs = {make.tensor({1, 1, shape.pixels, shape.inputs})};
  c.output = {1, 1, shape.pixels, shape.outputs};
  const std::uint32_t padded = (shape.inputs + 3) / 4 * 4;
  c.consts = {
      make.weights(padded, shape.outputs, [&](std::uint64_t row) { return row < shape.inputs; }),
      make.vector(shape.outputs, 0.25, 1), make.vector(shape.outputs, -1, 1)};
  c.const_is_weight = {true, false, false};
  return c;
}

RunOptions options() {
  RunOptions o{gpu_traits(), "gemm_coopmat", use_matrices};
  o.only = {kFp16sa, kFp16pa};
  return o;
}

}  // namespace

TEST_CASE("cooperative matrices multiply as the oracle does", "[coopmat]") {
  // One, whole matrices and blocks, and what is no multiple of anything.
  const Shape shapes[] = {{1, 1, 1},    {16, 16, 16},   {32, 64, 32}, {7, 3, 19},
                          {33, 17, 30}, {131, 67, 131}, {64, 600, 9}, {200, 48, 33}};
  const auto all = activations(true);
  std::uint32_t k = 0;
  for (const Shape& shape : shapes) {
    RunOptions with = options();
    with.activation = all[k % all.size()];
    INFO(shape.pixels << " x " << shape.inputs << " x " << shape.outputs);
    check(product(shape, 900 + k), with);
    ++k;
  }
}

TEST_CASE("their sums are single precision", "[coopmat]") {
  // 600 * 512 * 0.75 = 230,400 is beyond half precision's range.
  Case c = product({19, 600, 6}, 7);
  for (double& v : c.inputs[0].v) v = 512;
  for (std::size_t i = 0; i < c.consts[0].size(); i++) c.consts[0][i] = i % 8 < 6 ? 0.75 : 0;
  for (double& v : c.consts[1]) v = 1.0 / 4096;
  RunOptions plain = options();
  plain.activation = activations(false)[0];  // none, which would hide the sum
  check(c, plain);
  // 4096 + 600 small products: in half precision each of them is lost.
  for (std::size_t i = 0; i < c.inputs[0].v.size(); i++) c.inputs[0].v[i] = i % 600 == 0 ? 64 : 1;
  for (std::size_t i = 0; i < c.consts[0].size(); i++) {
    c.consts[0][i] = i % 8 >= 6 ? 0 : i < 8 ? 64 : 1;
  }
  check(c, plain);
}

}  // namespace spirkiln::test

int main(int argc, char** argv) {
  using namespace spirkiln;
  Catch::Session session;
  if (const int rc = session.applyCommandLine(argc, argv); rc != 0) return rc;
  if (session.config().listTests()) return session.run();

  std::string folder =
      (std::filesystem::temp_directory_path() / "spirkiln-coopmat-XXXXXX").string();
  if (const char* table = std::getenv("SPIRKILN_COOPMAT_TABLE"); table != nullptr) {
    ::setenv("SPIRKILN_TABLE", table, 1);
  } else {
    gen::BakeOptions options;
    options.second = gen::second_folder("");
    if (!options.second) {
      return test::skip("no second compiler for cooperative matrices (scripts/fetch-glslc.sh)");
    }
    if (::mkdtemp(folder.data()) == nullptr) return 1;
    options.inputs = {SPIRKILN_SOURCE_ROOT "/variants/extra"};
    options.name = "extra";
    options.out_dir = folder;
    options.embed = gen::EmbedForm::kNone;
    auto baked = gen::bake(options, [](Severity, std::string_view text) {
      std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    });
    if (!baked.ok()) {
      std::fprintf(stderr, "%s\n", baked.error().message.c_str());
      return 1;
    }
    ::setenv("SPIRKILN_TABLE", (folder + "/extra_table.bin").c_str(), 1);
  }
  // The layers of Debian 12 know neither the extension nor its instructions.
  ::setenv("SPIRKILN_TEST_NO_VALIDATION", "1", 1);

  int rc = 0;
  if (test::device() == nullptr) {
    rc = test::skip("no Vulkan device");
  } else if (const auto missing = test::missing_on(test::device()->state()->caps);
             !missing.empty()) {
    rc = test::skip(missing);
  } else if (test::subgroup_axis().empty()) {
    rc = test::skip("no variant for subgroups of " +
                    std::to_string(test::device_traits().subgroup_size));
  } else {
    rc = session.run();
  }
  std::error_code code;
  std::filesystem::remove_all(folder, code);
  return rc;
}
