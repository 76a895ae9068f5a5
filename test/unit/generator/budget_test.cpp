// SPDX-License-Identifier: Apache-2.0
// Budgets of manifests: what is over one fails the bake and the report, at the budget's place.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "shell.hpp"
#include "size_report.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

constexpr std::string_view kKernel = "[[kernel]]\nname = \"scale\"\nsource = \"scale.comp\"\n";

// The packed bytes of the kernel in a table of it alone, as the report has them.
std::uint64_t packed_bytes(const test::Shell& s) {
  s.write("m.toml", kKernel);
  REQUIRE(s.run("bake m.toml --name t --out-dir plain " + s.glsl()).status == 0);
  const auto table = Table::from_file((s / "plain/t_table.bin").string());
  REQUIRE(table.ok());
  const auto kernels = gen::kernel_bytes(*table);
  REQUIRE(kernels.size() == 1);
  return static_cast<std::uint64_t>(kernels[0].bytes.packed + 0.5);
}

}  // namespace

TEST_CASE("budget: one byte too little fails the bake, and nothing is written", "[budget]") {
  const test::Shell s;
  const std::uint64_t packed = packed_bytes(s);
  const std::string bake = "bake m.toml --name t --out-dir o " + s.glsl();
  s.write("m.toml", std::string(kKernel) + "budget = " + std::to_string(packed - 1) + "\n");
  const auto over = s.run(bake);
  CHECK(over.status == 1);
  CHECK_THAT(over.err, StartsWith("m.toml:4:10: error: the variants of 'scale' (5) take " +
                                  std::to_string(packed) +
                                  " bytes packed, 1 more than the budget "
                                  "of " +
                                  std::to_string(packed - 1) + "; leave out what is not worth"));
  CHECK_THAT(over.err, ContainsSubstring("\n  storage = "));
  CHECK_THAT(over.err, ContainsSubstring("nothing was written"));
  CHECK_FALSE(s.exists("o"));
  // Exactly enough is enough.
  s.write("m.toml", std::string(kKernel) + "budget = " + std::to_string(packed) + "\n");
  CHECK(s.run(bake).status == 0);
  CHECK(s.exists("o/t_table.bin"));
}

TEST_CASE("budget: of a whole manifest", "[budget]") {
  const test::Shell s;
  const std::string two = std::string(kKernel) +
                          "[[kernel]]\nname = \"other\"\nsource = \"scale.comp\"\n"
                          "defines = { N = 1 }\nvariants = [\"fp32\"]\n";
  s.write("m.toml", "budget = \"1 B\"\n" + two);
  const auto over = s.run("bake m.toml --name t --out-dir o " + s.glsl());
  CHECK(over.status == 1);
  CHECK_THAT(over.err, StartsWith("m.toml:1:10: error: the kernels of this manifest take "));
  CHECK_THAT(over.err, ContainsSubstring(" more than the budget of 1; "));
  CHECK_THAT(over.err, ContainsSubstring("\n  scale: "));
  // To see what takes the bytes is never refused.
  CHECK(s.run("list --explain m.toml " + s.glsl()).status == 0);
}

TEST_CASE("budget: report holds a table against manifests", "[budget]") {
  const test::Shell s;
  const std::uint64_t packed = packed_bytes(s);
  const std::string report = "report plain/t_table.bin ";
  s.write("m.toml", std::string(kKernel) + "budget = \"1 MiB\"\n");
  CHECK(s.run(report + "m.toml").status == 0);
  s.write("m.toml", std::string(kKernel) + "budget = 7\n");
  const auto over = s.run(report + "m.toml");
  CHECK(over.status == 1);
  CHECK_THAT(over.out, ContainsSubstring("table t: "));  // what the decision needs
  CHECK_THAT(over.err, StartsWith("m.toml:4:10: error: the variants of 'scale' (5) take " +
                                  std::to_string(packed) + " bytes"));
  // Both limits at once.
  const auto both = s.run(report + "m.toml --budget 9");
  CHECK(both.status == 1);
  CHECK_THAT(both.err, StartsWith("plain/t_table.bin: error: the table has "));
  CHECK_THAT(both.err, ContainsSubstring("\nm.toml:4:10: error: "));
  // A budget that holds for nothing is no check.
  s.write("m.toml", "[[kernel]]\nname = \"scales\"\nsource = \"scale.comp\"\nbudget = 7\n");
  const auto missing = s.run(report + "m.toml");
  CHECK(missing.status == 1);
  CHECK_THAT(missing.err, StartsWith("m.toml:4:10: error: 'scales' has a budget and is not in the "
                                     "table 't'"));
}
