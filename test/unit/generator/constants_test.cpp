// SPDX-License-Identifier: Apache-2.0
// Specialization constants that a manifest names.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "shell.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::string_view kHead =
    "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = [\"fp32\", \"fp16s\"]\n"
    "[kernel.axes.MORE]\nvalues = [0, 1]\n";

constexpr std::string_view kSource =
    "#version 450\n"
    "layout(constant_id = 3) const uint tile_m = 8;\n"
    "layout(constant_id = 4) const float slope = 0.25;\n"
    "layout(constant_id = 5) const bool wide = true;\n"
    "layout(constant_id = 6) const int shift = -2;\n"
    "#if MORE\n"
    "layout(constant_id = 9) const uint extra = 1;\n"
    "#else\n"
    "const uint extra = 0;\n"
    "#endif\n"
    "layout(binding = 0) buffer B { sfp b[]; };\n"
    "void main() {\n"
    "  afp v = buffer_ld1(b, tile_m + extra) * afp(slope);\n"
    "  if (wide) v += afp(shift);\n"
    "  buffer_st1(b, 0, v);\n"
    "}\n";

struct Project : test::Workspace {
  explicit Project(const std::string& constants) {
    write("kernels/m.toml", std::string(kHead) + constants);
    write("kernels/k.comp", kSource);
  }
};

}  // namespace

TEST_CASE("constants: what a manifest names is in the header by its name", "[constants]") {
  const Project p(
      "[kernel.constants]\n"
      "tile_m = { id = 3, type = \"uint\", default = 8 }\n"
      "slope = { id = 4, type = \"float\", default = 0.25 }\n"
      "wide = { default = true }\n"
      "shift = { type = \"int\", default = -2 }\n"
      "extra = {}\n");  // in half of the variants
  const auto run = test::run_bake(p.options());
  for (const auto& m : run.messages) UNSCOPED_INFO(m);
  INFO((run.result.ok() ? "" : run.result.error().message));
  REQUIRE(run.result.ok());
  const std::string header = p.read("out/test_table.hpp");
  CHECK_THAT(header, ContainsSubstring("namespace constants {\n"
                                       "namespace k {\n"
                                       "inline constexpr ::std::uint32_t extra = 9;\n"
                                       "inline constexpr ::std::uint32_t shift = 6;\n"
                                       "inline constexpr ::std::uint32_t slope = 4;\n"
                                       "inline constexpr ::std::uint32_t tile_m = 3;\n"
                                       "inline constexpr ::std::uint32_t wide = 5;\n"
                                       "}\n"));
  const auto table = Table::from_file((p / "out/test_table.bin").string());
  REQUIRE(table.ok());
  const auto text = gen::list_text(*table);
  REQUIRE(text.ok());
  CHECK_THAT(*text, ContainsSubstring("\nk\n  constants (id, type): tile_m (3, uint), slope (4, "
                                      "float), wide (5, bool), shift (6, int), extra (9, uint)\n"));
  CHECK_THAT(gen::reflection_json(*table, *table->find_variant("k_more")),
             ContainsSubstring("{\"id\": 9, \"name\": \"extra\", \"type\": \"uint\", "
                               "\"default_bits\": 1}"));
}

TEST_CASE("constants: nothing is in the header of a manifest that names none", "[constants]") {
  const Project p("");
  REQUIRE(test::run_bake(p.options()).result.ok());
  CHECK(p.read("out/test_table.hpp").find("constants") == std::string::npos);
}

TEST_CASE("constants: what the kernel does not have fails at its place", "[constants]") {
  struct Case {
    std::string line;
    std::string expected;
  };
  const Case cases[] = {
      {"tile_n = { id = 8 }", "no variant of 'k' has a constant 'tile_n'; the nearest is 'tile_m'"},
      {"size = { id = 3 }", "no variant of 'k' has a constant 'size'; the id 3 is 'tile_m'"},
      {"tile_m = { id = 2 }", "'tile_m' has the id 3 in k_fp16s, not 2"},
      {"tile_m = { type = \"int\" }", "'tile_m' is of type uint in k_fp16s, not int"},
      {"tile_m = { default = 16 }", "the default of 'tile_m' is 8 (uint) in k_fp16s"},
      {"tile_m = { default = true }", "the default of 'tile_m' is 8 (uint) in k_fp16s"},
      {"slope = { default = 1 }", "the default of 'slope' is 0.25 (float) in k_fp16s"},
      {"wide = { default = false }", "the default of 'wide' is true (bool) in k_fp16s"},
      {"shift = { default = 2 }", "the default of 'shift' is -2 (int) in k_fp16s"},
  };
  const Project p("");
  for (const Case& c : cases) {
    INFO(c.line);
    p.write("kernels/m.toml", std::string(kHead) + "[kernel.constants]\n" + c.line + "\n");
    const auto run = test::run_bake(p.options());
    REQUIRE_FALSE(run.result.ok());
    CHECK(run.result.error().message ==
          (p / "kernels/m.toml").string() + ":8:1: error: " + c.expected);
    CHECK_FALSE(p.exists("out"));
  }
}

TEST_CASE("constants: one name with two ids is no name for callers", "[constants]") {
  const Project p("[kernel.constants]\nextra = {}\n");
  std::string source(kSource);
  const std::string fixed = "const uint extra = 0;";
  source.replace(source.find(fixed), fixed.size(), "layout(constant_id = 7) const uint extra = 1;");
  p.write("kernels/k.comp", source);
  const auto run = test::run_bake(p.options());
  REQUIRE_FALSE(run.result.ok());
  CHECK_THAT(run.result.error().message,
             ContainsSubstring("m.toml:8:1: error: 'extra' has the id 7 in k_fp16s and 9 in "
                               "k_fp16s_more"));
}

TEST_CASE("constants: they pass through objects", "[constants]") {
  const test::Shell s;
  s.write("m.toml",
          "[[kernel]]\nname = \"scale\"\nsource = \"scale.comp\"\n"
          "[kernel.constants]\nn = { id = 0 }\n");
  REQUIRE(s.run("compile m.toml -o m.spko " + s.glsl()).status == 0);
  REQUIRE(s.run("link m.spko --name t --out-dir linked").status == 0);
  REQUIRE(s.run("bake m.toml --name t --out-dir baked " + s.glsl()).status == 0);
  CHECK(s.read("linked/t_table.hpp") == s.read("baked/t_table.hpp"));
  CHECK_THAT(s.read("linked/t_table.hpp"),
             ContainsSubstring("namespace scale {\ninline constexpr ::std::uint32_t n = 0;\n}\n"));
}
