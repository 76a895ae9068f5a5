// SPDX-License-Identifier: Apache-2.0
// What a kernel's #if lines ask about the device becomes axes.
#include "device_axes.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "expand.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

using Values = std::vector<std::int64_t>;

// The one macro that a text tests.
gen::TestedMacro tested(const std::string& text) {
  const auto file = std::make_shared<gen::SourceFile>(gen::SourceFile{"k.comp", text, 0});
  const auto all = gen::tested_macros({file});
  INFO(text);
  REQUIRE(all.size() == 1);
  return all[0];
}

}  // namespace

TEST_CASE("device axes: one value of each kind that the conditions tell apart", "[axes]") {
  struct Case {
    const char* condition;
    Values values;
  };
  const Case cases[] = {
      {"#if ncnn_subgroupSize", {0, 1}},
      {"#ifdef ncnn_subgroupSize", {0, 1}},
      {"#ifndef ncnn_subgroupSize", {0, 1}},
      {"#if defined(ncnn_subgroupSize)", {0, 1}},
      {"#if defined ncnn_subgroupSize && 1", {0, 1}},
      {"#if !ncnn_subgroupSize", {0, 1}},
      {"#if (ncnn_subgroupSize)", {0, 1}},
      {"#if 0\n#elif ncnn_subgroupSize == 4", {0, 4}},
      {"#if ncnn_subgroupSize != 4", {0, 4}},
      {"#if ncnn_subgroupSize >= 16", {0, 16}},
      {"#if ncnn_subgroupSize > 16", {0, 17}},
      {"#if ncnn_subgroupSize < 16", {0, 16}},
      {"#if ncnn_subgroupSize <= 16", {0, 17}},
      {"#if 16 <= ncnn_subgroupSize", {0, 16}},
      {"#if (16) < (ncnn_subgroupSize)", {0, 17}},
      {"#if ncnn_subgroupSize == 4 || ncnn_subgroupSize >= 16", {0, 4, 16}},
      {"#if ncnn_subgroupSize == 16 || ncnn_subgroupSize >= 16", {0, 16, 17}},
      {"#if ncnn_subgroupSize >= 0x10u && (ncnn_subgroupSize < 32)", {0, 16, 32}},
      {"#if ncnn_subgroupSize == 0", {0, 1}},
      {"#if ncnn_subgroupSize >= 0", {0}},
      {"#if !defined(A) && \\\n    ncnn_subgroupSize == 4", {0, 4}},
      {"#if ncnn_subgroupSize == 4 // ncnn_subgroupSize == 8", {0, 4}},
  };
  for (const Case& c : cases) {
    INFO(c.condition);
    const auto macro = tested(std::string(c.condition) + "\n#endif\n");
    CHECK(macro.name == "ncnn_subgroupSize");
    CHECK(macro.values == c.values);
    CHECK_FALSE(macro.unclear);
  }
}

TEST_CASE("device axes: what depends on more than the macro is said to be unclear", "[axes]") {
  for (const char* condition :
       {"ncnn_subgroupSize % 4 == 0", "ncnn_subgroupSize == SIZE", "ncnn_subgroupSize * 2 > 8",
        "4 + ncnn_subgroupSize == 8", "-ncnn_subgroupSize < 3", "F(ncnn_subgroupSize)",
        "ncnn_subgroupSize == 4 + 4", "ncnn_subgroupSize == -4", "4 - 3 == ncnn_subgroupSize",
        "ncnn_subgroupSize < 4.0", "ncnn_subgroupSize == 4 == 1"}) {
    INFO(condition);
    const auto macro = tested("\n#if " + std::string(condition) + "\n#endif\n");
    REQUIRE(macro.unclear);
    CHECK(macro.unclear->line == 2);
  }
}

TEST_CASE("device axes: which macros are asked about", "[axes]") {
  const auto file = std::make_shared<gen::SourceFile>(
      gen::SourceFile{"k.comp",
                      "#if NCNN_fp16_storage && NCNN_image_shader && NCNN_int8_packed\n#endif\n"
                      "#define ncnn_vendorID 3\n#if ncnn_vendorID == 4318\n#endif\n"
                      "int ncnn_subgroupSize;\n"
                      "#if NCNN_moltenvk\n#elif ncnn_VK_KHR_cooperative_matrix >= 2\n#endif\n"
                      "#if OTHER == 3\n#endif\n",
                      0});
  const auto all = gen::tested_macros({file});
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "NCNN_moltenvk");
  CHECK(all[0].conditions == std::vector<std::string>{"on or off"});
  CHECK(all[0].first.line == 7);
  CHECK(all[0].first.column == 5);
  CHECK(all[1].name == "ncnn_VK_KHR_cooperative_matrix");
  CHECK(all[1].conditions == std::vector<std::string>{">= 2"});
}

TEST_CASE("device axes: names of variants, and what 0 means", "[axes]") {
  gen::KernelManifest kernel;
  kernel.name = "k";
  kernel.variants = {"fp32"};
  gen::TestedMacro size;
  size.name = "ncnn_subgroupSize";
  size.values = {0, 16};
  gen::TestedMacro molten;
  molten.name = "NCNN_moltenvk";
  molten.values = {0, 1};
  REQUIRE(gen::add_device_axes(kernel, {size, molten}).ok());
  const auto expansion = gen::expand(kernel);
  REQUIRE(expansion.ok());
  std::vector<std::string> names;
  for (const auto& v : expansion->variants) names.push_back(v.name);
  CHECK(names == std::vector<std::string>{"k", "k_subgroupsize16", "k_moltenvk",
                                          "k_moltenvk_subgroupsize16"});
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(expansion->variants[0].macros == Pairs{});
  CHECK(expansion->variants[1].macros == Pairs{{"ncnn_subgroupSize", "16"}});
  CHECK(expansion->variants[1].axis_values ==
        Pairs{{"NCNN_moltenvk", "0"}, {"ncnn_subgroupSize", "16"}});
}

namespace {

constexpr std::string_view kKernel =
    "#version 450\n"
    "layout(binding = 0) buffer B { float b[]; };\n"
    "#include \"more.glsl\"\n"
    "void main() {\n"
    "  b[0] = 1.0 + MORE;\n"
    "#if ncnn_subgroupSize >= 16\n"
    "  b[1] = 16.0;\n"
    "#elif ncnn_subgroupSize == 4\n"
    "  b[1] = 4.0;\n"
    "#endif\n"
    "}\n";

struct Project : test::Workspace {
  Project() {
    write("kernels/k.comp", kKernel);
    write("kernels/more.glsl",
          "#ifdef NCNN_moltenvk\n#define MORE 1.0\n#else\n#define MORE 0.0\n#endif\n");
  }
  test::BakeRun bake(const std::string& device) const {
    write("kernels/m.toml",
          "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = [\"fp32\"]\n" + device);
    return test::run_bake(options());
  }
};

}  // namespace

TEST_CASE("device axes: auto enumerates what the kernel and its includes test", "[axes]") {
  const Project p;
  const auto run = p.bake("device = \"auto\"\n");
  INFO((run.result.ok() ? "" : run.result.error().message));
  REQUIRE(run.result.ok());
  CHECK(run.result->variants == 6);
  CHECK(run.result->unique_blobs == 6);
  auto table = Table::from_file((p / "out/test_table.bin").string());
  REQUIRE(table.ok());
  const auto* variant = table->find_variant("k_moltenvk_subgroupsize4");
  REQUIRE(variant != nullptr);
  REQUIRE(variant->axis_value_count == 2);
  const auto axis = table->axis_values_of(*variant)[1];
  CHECK(std::string(table->string(axis.axis)) == "ncnn_subgroupSize");
  CHECK(std::string(table->string(axis.value)) == "4");
}

TEST_CASE("device axes: listed ones; the others stay 0", "[axes]") {
  const Project p;
  CHECK(p.bake("").result->variants == 1);
  CHECK(p.bake("[kernel.device]\nncnn_subgroupSize = [4, 8, 32]\n").result->variants == 3);
  CHECK(p.bake("[kernel.device]\nauto = true\nncnn_subgroupSize = [0, 4]\n").result->variants == 4);
  // A value of its own pins a macro.
  const auto pinned = p.bake("[kernel.device]\nncnn_subgroupSize = [16]\n");
  REQUIRE(pinned.result.ok());
  CHECK(pinned.result->variants == 1);
  auto table = Table::from_file((p / "out/test_table.bin").string());
  REQUIRE(table.ok());
  const auto* variant = table->find_variant("k");
  REQUIRE(variant != nullptr);
  REQUIRE(variant->axis_value_count == 1);
  CHECK(std::string(table->string(table->axis_values_of(*variant)[0].value)) == "16");
}

TEST_CASE("device axes: mistakes", "[axes]") {
  const Project p;
  const auto said = [&](const std::string& device) {
    const auto run = p.bake(device);
    REQUIRE_FALSE(run.result.ok());
    CHECK(run.result.error().message.find('\n') == std::string::npos);
    return run.result.error().message;
  };
  CHECK_THAT(said("device = \"all\"\n"),
             ContainsSubstring("m.toml:5:10: error: 'device' must be \"auto\" or a table"));
  CHECK_THAT(said("[kernel.device]\nncnn_subgroupsize = [4]\n"),
             ContainsSubstring("m.toml:6:1: error: 'ncnn_subgroupsize': no such macro; the nearest "
                               "is 'ncnn_subgroupSize'"));
  CHECK_THAT(said("[kernel.device]\nTILE = [4]\n"), ContainsSubstring("m.toml:6:1: error: 'TILE'"));
  CHECK_THAT(said("[kernel.device]\nNCNN_fp16_storage = [0, 1]\n"),
             ContainsSubstring("m.toml:6:1: error: 'NCNN_fp16_storage' comes from the variant"));
  CHECK_THAT(said("[kernel.device]\nNCNN_moltenvk = 1\n"),
             ContainsSubstring("m.toml:6:17: error: 'NCNN_moltenvk' must be a list"));
  CHECK_THAT(said("[kernel.device]\nNCNN_moltenvk = [0, -1]\n"),
             ContainsSubstring("m.toml:6:21: error: '-1': what a device says is 0 or more"));
  CHECK_THAT(said("[kernel.device]\nNCNN_moltenvk = [0, 0]\n"),
             ContainsSubstring("m.toml:6:21: error: the value '0' is listed twice"));
  CHECK_THAT(said("[kernel.device]\nNCNN_moltenvk = [0, \"1\"]\n"),
             ContainsSubstring("m.toml:6:21: error: expected an integer or a boolean"));
  p.write("kernels/more.glsl", "#if ncnn_vendorID % 2 == 1\n#endif\n#define MORE 1.0\n");
  CHECK_THAT(said("device = \"auto\"\n"),
             ContainsSubstring("more.glsl:1:5: error: 'ncnn_vendorID': which values matter cannot "
                               "be told from this condition; list them under [kernel.device] of "
                               "'k'"));
}
