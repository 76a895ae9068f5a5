// SPDX-License-Identifier: Apache-2.0
// A variant that needs more than its axis values promise fails the bake.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "audit.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

// `body` between two lines of a kernel that copies; `extension` above it.
std::string kernel(const std::string& extension, const std::string& body) {
  return "#version 450\n" + extension +
         "layout(binding = 0) buffer B { sfp b[]; };\n"
         "layout(binding = 1) buffer C { int c[]; };\n"
         "void main() {\n"
         "  uint i = gl_GlobalInvocationID.x;\n" +
         body +
         "  buffer_st1(b, i, buffer_ld1(b, i));\n"
         "}\n";
}

constexpr const char* kInt64 =
    "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n";
constexpr const char* kUseInt64 = "  c[i] = int((int64_t(c[i]) * int64_t(c[i + 1])) >> 32);\n";

test::BakeRun bake(test::Workspace& w, const std::string& manifest, const std::string& text) {
  w.write("kernels/m.toml", manifest);
  w.write("kernels/k.comp", text);
  return test::run_bake(w.options());
}

std::string all(const test::BakeRun& run) {
  std::string text;
  for (const auto& m : run.messages) text += m + "\n";
  return text;
}

constexpr const char* kManifest = "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\n";

}  // namespace

TEST_CASE("audit: a capability that nothing promises fails the bake, once for all variants",
          "[audit]") {
  test::Workspace w;
  const auto run = bake(w, kManifest, kernel(kInt64, kUseInt64));
  REQUIRE_FALSE(run.result.ok());
  const std::string text = all(run);
  CHECK_THAT(text, ContainsSubstring("m.toml:1:1: error: k.comp needs Int64 of SPIR-V"));
  CHECK_THAT(text, ContainsSubstring("in all 5 variants of k"));
  CHECK(run.messages.size() == 1);
  CHECK_FALSE(w.exists("out/test_table.bin"));
}

TEST_CASE("audit: what only one variant needs is blamed on that one", "[audit]") {
  test::Workspace w;
  // A half in an fp32 variant, by a macro that is not the variant's own.
  const auto run = bake(w, std::string(kManifest) + "[kernel.axes.WIDE]\nvalues = [0, 1]\n",
                        kernel("#if WIDE\n" + std::string(kInt64) + "#endif\n",
                               "#if WIDE\n" + std::string(kUseInt64) + "#endif\n"));
  REQUIRE_FALSE(run.result.ok());
  CHECK_THAT(all(run), ContainsSubstring("in 5 of 10 variants of k: k_fp16s_wide"));
}

TEST_CASE("audit: [[kernel.needs]] promises, for all points or for some", "[audit]") {
  test::Workspace w;
  SECTION("for all") {
    const auto run =
        bake(w, std::string(kManifest) + "[[kernel.needs]]\ncapabilities = [\"Int64\"]\n",
             kernel(kInt64, kUseInt64));
    INFO(all(run));
    CHECK(run.result.ok());
  }
  SECTION("by number") {
    const auto run = bake(w, std::string(kManifest) + "[[kernel.needs]]\ncapabilities = [11]\n",
                          kernel(kInt64, kUseInt64));
    INFO(all(run));
    CHECK(run.result.ok());
  }
  SECTION("where `when` holds, and nowhere else") {
    const auto run = bake(w,
                          std::string(kManifest) +
                              "[kernel.axes.WIDE]\nvalues = [0, 1]\n"
                              "[[kernel.needs]]\nwhen = { WIDE = 0 }\ncapabilities = [\"Int64\"]\n",
                          kernel(kInt64, kUseInt64));
    REQUIRE_FALSE(run.result.ok());
    CHECK_THAT(all(run), ContainsSubstring("in 5 of 10 variants of k: k_fp16s_wide"));
  }
  SECTION("a subgroup capability brings the basic one") {
    const auto run = bake(
        w,
        std::string(kManifest) + "[[kernel.needs]]\ncapabilities = [\"GroupNonUniformBallot\"]\n",
        kernel("#extension GL_KHR_shader_subgroup_ballot : require\n",
               "  c[i] = int(subgroupBallot(c[i] > 0).x);\n"));
    INFO(all(run));
    CHECK(run.result.ok());
  }
}

TEST_CASE("audit: a device macro promises what it stands for, where it is set", "[audit]") {
  test::Workspace w;
  const std::string text = kernel(
      "#if ncnn_shaderInt16\n#extension GL_EXT_shader_explicit_arithmetic_types_int16 : "
      "require\n#endif\n",
      "#if ncnn_shaderInt16\n  c[i] = int(int16_t(c[i]) * int16_t(3));\n#endif\n");
  const auto run =
      bake(w, std::string(kManifest) + "[kernel.device]\nncnn_shaderInt16 = [0, 1]\n", text);
  INFO(all(run));
  CHECK(run.result.ok());
}

TEST_CASE("audit: mistakes in [[kernel.needs]] have their place", "[audit]") {
  test::Workspace w;
  const auto message = [&](const std::string& needs) {
    const auto run = bake(w, kManifest + needs, kernel("", ""));
    REQUIRE_FALSE(run.result.ok());
    return run.result.error().message;
  };
  CHECK_THAT(
      message("[[kernel.needs]]\ncapabilities = [\"GroupNonUniformBalot\"]\n"),
      ContainsSubstring("m.toml:5:17: error: 'GroupNonUniformBalot' is no capability of SPIR-V "
                        "that is known here; the nearest is 'GroupNonUniformBallot'"));
  CHECK_THAT(message("[[kernel.needs]]\nwhen = { variant = \"fp32\" }\n"),
             ContainsSubstring("m.toml:4:1: error: [[kernel.needs]] without 'capabilities'"));
  CHECK_THAT(message("[[kernel.needs]]\ncapabilities = []\n"),
             ContainsSubstring("m.toml:5:16: error: 'capabilities' must be a list of one or more"));
  CHECK_THAT(message("[[kernel.needs]]\ncapabilities = [\"Int64\"]\nwhy = 1\n"),
             ContainsSubstring("m.toml:6:1: error: unknown key 'why'"));
  CHECK_THAT(message("[kernel.needs]\ncapabilities = [\"Int64\"]\n"),
             ContainsSubstring("must be written as [[kernel.needs]]"));
  CHECK_THAT(message("[[kernel.needs]]\nwhen = { TILE = 1 }\ncapabilities = [\"Int64\"]\n"),
             ContainsSubstring("m.toml:5:10: error: 'TILE' is no axis of 'k'"));
  CHECK_THAT(message("[[kernel.needs]]\ncapabilities = [true, -1]\n"),
             ContainsSubstring("expected a capability of SPIR-V"));
}
