// SPDX-License-Identifier: Apache-2.0
#include "expand.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

gen::KernelManifest kernel(std::vector<gen::Axis> axes) {
  gen::KernelManifest k;
  k.name = "gemm_nc";
  k.variants = {"fp16s", "fp16sa", "fp32"};
  k.axes = std::move(axes);
  k.position = {Severity::kError, "m.toml", 7, 1, {}};
  return k;
}

std::vector<std::string> names(const gen::Expansion& e) {
  std::vector<std::string> out;
  for (const auto& v : e.variants) out.push_back(v.name);
  return out;
}

}  // namespace

TEST_CASE("expand: names and order", "[expand]") {
  auto e = gen::expand(kernel({{"DIRECT", {"0", "1"}, "0"}, {"TILE", {"4", "8"}, "8"}}));
  REQUIRE(e.ok());
  CHECK(names(*e) == std::vector<std::string>{
                         "gemm_nc_fp16s", "gemm_nc_fp16s_tile4", "gemm_nc_fp16s_direct",
                         "gemm_nc_fp16s_direct_tile4", "gemm_nc_fp16sa", "gemm_nc_fp16sa_tile4",
                         "gemm_nc_fp16sa_direct", "gemm_nc_fp16sa_direct_tile4", "gemm_nc",
                         "gemm_nc_tile4", "gemm_nc_direct", "gemm_nc_direct_tile4"});
  const gen::Variant& v = e->variants[7];
  CHECK(v.storage == table::Storage::kFp16);
  CHECK(v.arithmetic == table::Arithmetic::kFp16);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(v.axis_values == Pairs{{"DIRECT", "1"}, {"TILE", "4"}});
  CHECK(v.macros == Pairs{{"NCNN_fp16_storage", "1"},
                          {"NCNN_fp16_arithmetic", "1"},
                          {"DIRECT", "1"},
                          {"TILE", "4"}});
}

TEST_CASE("expand: negative values, with an m in the name", "[expand]") {
  auto e = gen::expand(kernel({{"PAD", {"0", "-1", "1"}, "0"}}));
  REQUIRE(e.ok());
  CHECK(names(*e)[1] == "gemm_nc_fp16s_padm1");
  CHECK(e->variants[1].axis_values[0].second == "-1");
  CHECK(e->variants[1].macros.back().second == "-1");
  // An 'm' of one's own may meet it.
  CHECK_FALSE(gen::expand(kernel({{"PAD", {"0", "-1", "m1"}, "0"}})).ok());
}

TEST_CASE("expand: accumulators in fp16 only with fp16 arithmetic", "[expand]") {
  auto e = gen::expand(kernel({{"acc", {"float", "afp"}, "float"}}));
  REQUIRE(e.ok());
  CHECK(names(*e) == std::vector<std::string>{"gemm_nc_fp16s", "gemm_nc_fp16sa",
                                              "gemm_nc_fp16sa_accafp", "gemm_nc"});
  REQUIRE(e->pruned.size() == 2);
  CHECK(e->pruned[0].variant == "gemm_nc_fp16s_accafp");
  CHECK(e->pruned[0].rule == "acc-afp-requires-fp16-arithmetic");
}

TEST_CASE("expand: rules leave points out, and say why", "[expand]") {
  const auto expand_text = [](const std::string& rules) {
    const auto m = gen::parse_manifest(gen::SourceFile{
        "m.toml",
        "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = [\"fp32\", \"fp16s\"]\n"
        "[kernel.axes.TILE]\nvalues = [4, 8]\n[kernel.axes.WIDE]\nvalues = [0, 1]\n" +
            rules,
        0});
    INFO((m.ok() ? "" : m.error().message));
    REQUIRE(m.ok());
    return gen::expand(m->kernels[0]);
  };
  auto e = expand_text(
      "[[kernel.excludes]]\nwhen = { TILE = 8, variant = \"fp32\" }\nreason = \"too large\"\n"
      "[[kernel.requires]]\nwhen = { WIDE = true }\nthen = { TILE = [8] }\nreason = \"narrow\"\n");
  REQUIRE(e.ok());
  CHECK(names(*e) ==
        std::vector<std::string>{"k_fp16s", "k_fp16s_tile8", "k_fp16s_tile8_wide", "k"});
  std::vector<std::string> pruned;
  for (const auto& p : e->pruned) pruned.push_back(p.variant + ": " + p.rule);
  CHECK(pruned == std::vector<std::string>{
                      "k_fp16s_wide: narrow (m.toml:12)", "k_wide: narrow (m.toml:12)",
                      "k_tile8: too large (m.toml:9)", "k_tile8_wide: too large (m.toml:9)"});
  // The runtime takes the defaults from the first variant.
  e = expand_text("[[kernel.excludes]]\nwhen = { TILE = 4 }\nreason = \"r\"\n");
  REQUIRE_FALSE(e.ok());
  CHECK_THAT(
      e.error().message,
      ContainsSubstring("m.toml:1:1: error: the rules of 'k' leave out TILE = 4, its default, "
                        "in the first variant that is left, 'k_fp16s_tile8'"));
}

TEST_CASE("expand: image forms come behind all buffer forms, int8 before own axes", "[expand]") {
  gen::KernelManifest k = kernel({{"DIRECT", {"0", "1"}, "0"}});
  k.variants = {"fp16p", "fp32"};
  k.resources = {table::Resource::kBuffer, table::Resource::kImage};
  k.int8 = {table::Int8::kStorage, table::Int8::kPacked, table::Int8::kNone};
  auto e = gen::expand(k);
  REQUIRE(e.ok());
  CHECK(names(*e) == std::vector<std::string>{"gemm_nc_fp16p_int8s",
                                              "gemm_nc_fp16p_int8s_direct",
                                              "gemm_nc_fp16p_int8p",
                                              "gemm_nc_fp16p_int8p_direct",
                                              "gemm_nc_fp16p",
                                              "gemm_nc_fp16p_direct",
                                              "gemm_nc_int8s",
                                              "gemm_nc_int8s_direct",
                                              "gemm_nc_int8p",
                                              "gemm_nc_int8p_direct",
                                              "gemm_nc",
                                              "gemm_nc_direct",
                                              "gemm_nc_image_fp16p_int8s",
                                              "gemm_nc_image_fp16p_int8s_direct",
                                              "gemm_nc_image_fp16p_int8p",
                                              "gemm_nc_image_fp16p_int8p_direct",
                                              "gemm_nc_image_fp16p",
                                              "gemm_nc_image_fp16p_direct",
                                              "gemm_nc_image_int8s",
                                              "gemm_nc_image_int8s_direct",
                                              "gemm_nc_image_int8p",
                                              "gemm_nc_image_int8p_direct",
                                              "gemm_nc_image",
                                              "gemm_nc_image_direct"});
  const gen::Variant& v = e->variants[15];
  CHECK(v.storage == table::Storage::kFp16Packed);
  CHECK(v.resource == table::Resource::kImage);
  CHECK(v.int8 == table::Int8::kPacked);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(v.macros == Pairs{{"NCNN_image_shader", "1"},
                          {"NCNN_fp16_packed", "1"},
                          {"NCNN_int8_packed", "1"},
                          {"DIRECT", "1"}});
  CHECK(e->variants[10].resource == table::Resource::kBuffer);
  CHECK(e->variants[12].macros == Pairs{{"NCNN_image_shader", "1"},
                                        {"NCNN_fp16_packed", "1"},
                                        {"NCNN_int8_storage", "1"},
                                        {"DIRECT", "0"}});
}

TEST_CASE("expand: a product without bound and equal names are errors", "[expand]") {
  std::vector<gen::Axis> many;
  for (char c = 'A'; c <= 'Z'; ++c) many.push_back({std::string(1, c), {"0", "1", "2"}, "0"});
  const auto product = gen::expand(kernel(many));
  REQUIRE_FALSE(product.ok());
  CHECK_THAT(product.error().message,
             ContainsSubstring("m.toml:7:1: error: the axes of 'gemm_nc'"));
  // A=_b and A_B=1 both end in _a_b.
  const auto names = gen::expand(kernel({{"A", {"0", "_b"}, "0"}, {"A_B", {"0", "1"}, "0"}}));
  REQUIRE_FALSE(names.ok());
  CHECK_THAT(names.error().message, ContainsSubstring("two variants would be called"));
}

TEST_CASE("expand: a value or an axis more renames nothing that was there", "[expand]") {
  const auto before = gen::expand(kernel({{"MODE", {"0", "1"}, "0"}}));
  REQUIRE(before.ok());
  const auto value = gen::expand(kernel({{"MODE", {"0", "1", "2"}, "0"}}));
  REQUIRE(value.ok());
  const auto axis =
      gen::expand(kernel({{"ABOVE", {"off", "on"}, "off"}, {"MODE", {"0", "1"}, "0"}}));
  REQUIRE(axis.ok());
  for (const auto* after : {&*value, &*axis}) {
    const auto now = names(*after);
    for (const std::string& name : names(*before)) {
      INFO(name);
      CHECK(std::find(now.begin(), now.end(), name) != now.end());
    }
  }
  CHECK(names(*value)[2] == "gemm_nc_fp16s_mode2");
}
