// SPDX-License-Identifier: Apache-2.0
// Every point of a product is accounted for, and what a kernel asks is shown.
#include "explain.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>

#include "glslang_front.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kManifest =
    "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = [\"fp32\", \"fp16sa\"]\n"
    "[kernel.axes.acc]\nvalues = [\"float\", \"afp\"]\n"
    "[kernel.axes.NEW]\nvalues = [0, 1]\n"
    "[kernel.axes.UNUSED]\nvalues = [0, 1]\n"
    "[kernel.device]\nncnn_subgroupSize = [0, 4]\nncnn_vendorID = [0]\n";

// No released compiler of this project's systems knows the last of these.
std::string kernel(std::string_view extension) {
  return "#version 450\n"
         "#if NEW\n#extension " +
         std::string(extension) +
         " : require\n#endif\n"
         "layout(binding = 0) buffer B { sfp b[]; };\n"
         "void main() {\n"
         "  acp v = acp(buffer_ld1(b, 0));\n"
         "#if ncnn_subgroupSize == 4 || ncnn_deviceID % 2 == 0 && NCNN_moltenvk\n"
         "  v = v * v;\n"
         "#endif\n"
         "  buffer_st1(b, 0, afp(v));\n"
         "}\n";
}

struct Project : test::Workspace {
  explicit Project(std::string_view extension) {
    write("kernels/m.toml", kManifest);
    write("kernels/k.comp", kernel(extension));
  }
};

}  // namespace

TEST_CASE("explain: each point of the product has one fate", "[explain]") {
  const Project p("GL_NV_cooperative_vector");
  std::vector<std::string> messages;
  const auto kernels = gen::explain(p.options(), [&](Severity severity, std::string_view text) {
    CHECK(severity == Severity::kWarning);
    messages.emplace_back(text);
  });
  INFO((kernels.ok() ? "" : kernels.error().message));
  REQUIRE(kernels.ok());
  REQUIRE(kernels->size() == 1);
  std::map<std::string, std::string> fates;
  for (const auto& point : kernels->front().points) {
    CHECK(fates.emplace(point.variant, gen::point_text(point)).second);
  }
  // Two forms, three switches and acc; vendorID has one value. And the form that cannot be.
  CHECK(fates.size() == 2 * 2 * 2 * 2 * 2 + 1);
  CHECK(fates.at("k") == "kept k");
  CHECK(fates.at("k_unused") == "merged k_unused into k");
  CHECK(fates.at("k_unused_subgroupsize4") == "merged k_unused_subgroupsize4 into k_subgroupsize4");
  CHECK(fates.at("k_fp16sa_accafp") == "kept k_fp16sa_accafp");
  CHECK(fates.at("k_accafp") == "pruned k_accafp by acc-afp-requires-fp16-arithmetic");
  CHECK(fates.at("k_fp32a") == "pruned k_fp32a by fp16-arithmetic-requires-16-bit-storage");
  CHECK(fates.at("k_new") == "left out k_new: needs GL_NV_cooperative_vector, which " +
                                 gen::glslang_version() + " does not know");
  std::map<gen::Fate, int> count;
  for (const auto& point : kernels->front().points) ++count[point.fate];
  CHECK(count[gen::Fate::kLeftOut] == 12);
  CHECK(count[gen::Fate::kPruned] == 8 + 1);
  CHECK(count[gen::Fate::kKept] == 6);
  CHECK(count[gen::Fate::kMerged] == 6);
  REQUIRE(messages.size() == 2);
  CHECK_THAT(messages[0],
             ContainsSubstring("m.toml:9:14: warning: the axis 'UNUSED' changes nothing: "
                               "neither the source of 'k' nor what it includes reads"));
  CHECK_THAT(messages[1],
             ContainsSubstring("k.comp:3:12: warning: 'GL_NV_cooperative_vector': left out, "));
  CHECK_THAT(messages[1], ContainsSubstring("\n  in 12 of 24 variants of k: "));
  // No output was written.
  CHECK_FALSE(p.exists("out"));
}

TEST_CASE("explain: the macros that a kernel tests", "[explain]") {
  const Project p("GL_NV_cooperative_vector");
  const auto kernels = gen::explain(p.options(), {});
  REQUIRE(kernels.ok());
  const std::string text = gen::explain_text(*kernels);
  const std::string file = (p / "kernels/k.comp").string();
  CHECK_THAT(text, ContainsSubstring("  tests ncnn_subgroupSize (== 4): enumerated as 0 4\n"));
  CHECK_THAT(text,
             ContainsSubstring("  tests NCNN_moltenvk (on or off): stays 0; values 0 1, first at " +
                               file + ":8:57\n"));
  CHECK_THAT(text,
             ContainsSubstring("  tests ncnn_deviceID (something else): stays 0; unclear at " +
                               file + ":8:31, first at " + file + ":8:31\n"));
  CHECK_THAT(text, ContainsSubstring("  does not test ncnn_vendorID, which is enumerated\n"));
  const std::string json = gen::explain_json(*kernels);
  CHECK_THAT(json, ContainsSubstring("{\"variant\": \"k_unused\", \"fate\": \"merged\", "
                                     "\"detail\": \"k\", \"compiler\": null}"));
  CHECK_THAT(json,
             ContainsSubstring("{\"name\": \"ncnn_subgroupSize\", \"conditions\": [\"== 4\"], "
                               "\"values\": [0, 4], \"file\": \"" +
                               file +
                               "\", \"line\": 8, \"column\": 5, \"enumerated\": [\"0\", "
                               "\"4\"]}"));
}

TEST_CASE("explain: a bake has what can be compiled, and an unknown extension is an error",
          "[explain]") {
  const Project p("GL_NV_cooperative_vector");
  const auto run = test::run_bake(p.options());
  REQUIRE(run.result.ok());
  CHECK(run.result->left_out == 12);
  CHECK(run.result->variants == 12);
  auto table = Table::from_file((p / "out/test_table.bin").string());
  REQUIRE(table.ok());
  CHECK(table->find_variant("k_fp16sa_accafp") != nullptr);
  CHECK(table->find_variant("k_new") == nullptr);

  const Project typo("GL_KHR_cooperative_matirx");
  const auto failed = test::run_bake(typo.options());
  REQUIRE_FALSE(failed.result.ok());
  REQUIRE(failed.messages.size() == 1);
  CHECK_THAT(failed.messages[0], ContainsSubstring("k.comp:3:1: error: "));

  p.write("kernels/m.toml",
          "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\ndefines = { NEW = 1 }\n");
  const auto none = test::run_bake(p.options());
  REQUIRE_FALSE(none.result.ok());
  CHECK_THAT(none.result.error().message, ContainsSubstring("every variant was left out"));
}

TEST_CASE("explain: an axis that is read somewhere is not called unread", "[explain]") {
  const test::Workspace w;
  w.write("kernels/m.toml",
          "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = [\"fp32\"]\n"
          "defines = { BOTH = \"(ONE + 1)\" }\n"
          "[kernel.axes.ONE]\nvalues = [0, 1]\n"          // by another macro's text
          "[kernel.axes.INCLUDED]\nvalues = [0, 1]\n"     // in a file that one variant includes
          "[kernel.axes.ALIAS]\nvalues = [\"BOTH\", 7]\n"
          "[kernel.axes.IMCLUDED]\nvalues = [0, 1]\n"     // a misspelling
          "[kernel.device]\nncnn_vendorID = [0, 1]\nncnn_deviceID = [3]\n");
  w.write("kernels/k.comp",
          "#version 450\n#if ALIAS != 7\n#include \"i.glsl\"\n#endif\n"
          "// IMCLUDED stands in a comment alone\n"
          "layout(binding = 0) buffer B { sfp b[]; };\nvoid main() { buffer_st1(b, 0, afp(ALIAS)); "
          "}\n");
  w.write("kernels/i.glsl", "#if INCLUDED\n#endif\n");
  const auto run = test::run_bake(w.options());
  REQUIRE(run.result.ok());
  const std::string file = (w / "kernels/m.toml").string();
  REQUIRE(run.messages.size() == 2);
  CHECK_THAT(run.messages[0],
             ContainsSubstring(file + ":12:14: warning: the axis 'IMCLUDED' changes nothing"));
  CHECK_THAT(run.messages[1],
             ContainsSubstring(file + ":15:1: warning: the axis 'ncnn_vendorID' changes nothing"));
}
