// SPDX-License-Identifier: Apache-2.0
// The tuning file: what it says arrives, and what it may not say is an error at its place.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "shell.hpp"
#include "tuning_file.hpp"
#include "tuning_keys.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using tuning::Fact;
using tuning::Family;

namespace {

Result<gen::TuningFile> parse(const std::string& text) {
  return gen::parse_tuning(gen::SourceFile{"t.toml", text, 0});
}

// The text, and behind it what a file has to have and the text has not: numbers and last rules.
std::string whole(std::string text) {
  struct List {
    const char *name, *use;
  };
  constexpr const char* kTile =
      "{ groups_k = 1, groups_m = 1, groups_n = 1, matrices_m = 1, matrices_n = 1, tile_k4 = 4 }";
  const List lists[] = {{"product", "\"plain\""},
                        {"tiled_shape", "{ x = 4, y = 8, z = 1, tile_k4 = 4 }"},
                        {"matrix_tile", kTile},
                        {"matrix_lite", kTile},
                        {"window_tile", "{ groups = 1, matrices_m = 1, matrices_n = 1 }"},
                        {"gate_group", "{ x = 8, y = 1 }"}};
  for (const List& list : lists) {
    const std::string name = list.name;
    if (text.find(name) != std::string::npos) continue;
    text += "[[" + name + "]]\nuse = " + list.use + "\nreason = \"r\"\n";
  }
  for (const gen::NumberKey& key : gen::number_keys()) {
    const std::string name(key.name);
    if (text.find("\"" + name + "\"") != std::string::npos) continue;
    const bool flag = std::holds_alternative<bool tuning::Numbers::*>(key.member);
    text += "[[number]]\nname = \"" + name +
            "\"\nall = " + (flag ? "false" : std::to_string(key.least)) + "\nreason = \"r\"\n";
  }
  return text;
}

// Line 1 is the list's, 2 the reason; what a test gives begins in line 3.
std::string rule(const std::string& list, const std::string& lines) {
  return whole("[[" + list + "]]\nreason = \"r\"\n" + lines + "\n");
}
std::string number(const std::string& name, const std::string& lines) {
  return whole("[[number]]\nreason = \"r\"\nname = \"" + name + "\"\n" + lines + "\n");
}

std::string fault(const std::string& text) {
  const auto parsed = parse(text);
  REQUIRE_FALSE(parsed.ok());
  return parsed.error().message;
}

const std::string kPlainRule = "[[product]]\nreason = \"r\"\nuse = \"plain\"";

}  // namespace

TEST_CASE("tuning: every kind of entry", "[tuning]") {
  const auto file = parse(whole(R"([[number]]
name = "linear_group"
gpu = 64
software = 128
reason = "why"
measured = "how much"
[[number]]
name = "stem"
gpu = true
software = false
reason = "why"
[[number]]
name = "depthwise_jobs"
all = 65536
reason = "why"
[[product]]
device = "gpu"
n4 = { from = 6, to = 90 }
k4_n4 = { from = 40 }
rows = 7
use = "matrix"
reason = "why"
[[product]]
device = "software"
use = "subgroup"
reason = "why"
[[product]]
use = "plain"
reason = "why"
[[tiled_split]]
groups = { to = 255 }
use = { x = 8, y = 4, z = 4, tile_k4 = 8 }
reason = "why"
[[matrix_tile]]
matrix_columns = { from = 10, multiple_of = 3 }
own_groups = { from = 100 }
use = { groups_k = 2, groups_m = 1, groups_n = 4, matrices_m = 3, matrices_n = { n8 = 6, n16 = 5 }, tile_k4 = 16 }
reason = "why"
[[matrix_tile]]
use = { groups_k = 1, groups_m = 2, groups_n = 3, matrices_m = 4, matrices_n = 5, tile_k4 = 24 }
reason = "why"
[[separable_tile]]
window_w = { from = 5 }
use = { groups_m = 2, groups_n = 4, matrices_m = 1, matrices_n = { n8 = 3, n16 = 2 }, tile_k4 = 12, tile_w = 8 }
reason = "why"
[[gate_group]]
invocations = { from = 1024 }
shared_bytes = 32768
middle4 = { to = 32 }
use = { x = 64, y = 16 }
reason = "why"
[[gate_group]]
use = { x = 16, y = 8 }
reason = "why"
)"));
  INFO((file.ok() ? "" : file.error().message));
  REQUIRE(file.ok());
  CHECK(file->gpu.linear_group == 64);
  CHECK(file->software.linear_group == 128);
  CHECK(file->gpu.stem);
  CHECK_FALSE(file->software.stem);
  CHECK(file->gpu.depthwise_jobs == 65536);
  CHECK(file->software.depthwise_jobs == 65536);

  REQUIRE(file->product.size() == 3);  // in the file's order
  CHECK(file->product[0].choice == Family::kMatrix);
  CHECK(file->product[0].count == 4);
  CHECK(file->product[1].choice == Family::kSubgroup);
  CHECK(file->product[2].choice == Family::kPlain);
  CHECK(file->product[2].count == 0);
  const auto chosen = [&](std::uint64_t software, std::uint64_t rows, std::uint64_t k4,
                          std::uint64_t n4) {
    return *tuning::first_of(file->view().product, [&](Fact f, Family) {
      return f == Fact::kSoftware ? software
             : f == Fact::kRows   ? rows
             : f == Fact::kN4     ? n4
                                  : k4 * n4;
    });
  };
  CHECK(chosen(0, 7, 7, 6) == Family::kMatrix);
  CHECK(chosen(0, 7, 6, 6) == Family::kPlain);   // 36 of 40
  CHECK(chosen(0, 7, 10, 5) == Family::kPlain);  // n4
  CHECK(chosen(0, 7, 1, 90) == Family::kMatrix);
  CHECK(chosen(0, 7, 1, 91) == Family::kPlain);
  CHECK(chosen(0, 8, 7, 6) == Family::kPlain);  // rows
  CHECK(chosen(1, 7, 7, 6) == Family::kSubgroup);

  REQUIRE(file->tiled_split.size() == 1);
  CHECK(file->tiled_split[0].conditions[0].to == 255);
  CHECK(file->tiled_split[0].choice.tile_k4 == 8);
  CHECK(file->matrix_split.empty());
  REQUIRE(file->matrix_tile.size() == 2);
  const auto& tile = file->matrix_tile[0];
  CHECK(tile.conditions[0].fact == Fact::kMatrixColumns);
  CHECK(tile.conditions[0].multiple_of == 3);
  CHECK(tile.choice.tile(8).matrices_n == 6);
  CHECK(tile.choice.tile(16).matrices_n == 5);
  CHECK(tile.choice.tile(16).groups_n == 4);
  CHECK(file->matrix_tile[1].choice.tile(8).matrices_n == 5);
  CHECK(file->matrix_tile[1].choice.tile(16).matrices_n == 5);
  REQUIRE(file->separable_tile.size() == 1);
  CHECK(file->separable_tile[0].conditions[0].fact == Fact::kWindowW);
  CHECK(file->separable_tile[0].choice.matrices_n8 == 3);
  CHECK(file->separable_tile[0].choice.matrices_n16 == 2);
  CHECK(file->separable_tile[0].choice.tile_w == 8);
  REQUIRE(file->gate_group.size() == 2);
  CHECK(file->gate_group[0].count == 3);
  CHECK(file->gate_group[1].choice.x == 16);
  CHECK(file->gate_group[1].choice.y == 8);
}

TEST_CASE("tuning: each mistake is an error at its place", "[tuning]") {
  struct Case {
    std::string text, message;
  };
  const std::string tile =
      "use = { groups_k = 2, groups_m = 1, groups_n = 1, matrices_m = 1, matrices_n = ";
  const std::string separable =
      "use = { groups_m = 1, groups_n = 1, matrices_m = 1, matrices_n = 1, ";
  const Case cases[] = {
      {whole("[[numbers]]\n"),
       "t.toml:1:3: error: unknown key 'numbers' in a tuning file; the "
       "nearest is 'number'"},
      {whole("[[product]\n"), "t.toml:1:11: error: "},
      {"product = 1\n" + whole(kPlainRule).substr(kPlainRule.size()),
       "t.toml:1:11: error: 'product' must be written as [[product]]"},
      {number("linear_gruop", "all = 1"),
       "t.toml:3:8: error: no number 'linear_gruop'; the nearest is 'linear_group'"},
      {number("linear_group", "gpu = 64"),
       "t.toml:1:1: error: 'linear_group' needs 'gpu' and 'software', or 'all'"},
      {number("linear_group", "all = 64\ngpu = 64\nsoftware = 64"),
       "t.toml:1:1: error: 'linear_group' needs 'gpu' and 'software', or 'all'"},
      {number("linear_group", "all = 0"),
       "t.toml:4:7: error: 'linear_group' must be a whole number from 1 to 1024"},
      {number("linear_group", "gpu = 64\nsoftware = 1025"),
       "t.toml:5:12: error: 'linear_group' must be a whole number from 1 to 1024"},
      {number("linear_group", "all = \"64\""), "t.toml:4:7: error: 'linear_group' must be a whole"},
      {number("norm_group", "all = 48"), "t.toml:4:7: error: 'norm_group' must be a power of two"},
      {number("stem", "all = 1"), "t.toml:4:7: error: 'stem' is true or false"},
      {number("stem", "all = true\nvulkan = 1"),
       "t.toml:5:1: error: unknown key 'vulkan' in [[number]]"},
      {number("stem", "all = true\n[[number]]\nname = \"stem\"\nreason = \"r\"\nall = true"),
       "t.toml:6:8: error: 'stem' stands twice"},
      {whole("[[number]]\nname = \"stem\"\nall = true\n"),
       "t.toml:1:1: error: [[number]] without 'reason'"},
      {whole("[[number]]\nreason = \"r\"\nall = true\n"),
       "t.toml:1:1: error: [[number]] without a 'name', a string"},
      {number("stem", "all = true\nmeasured = \"\""),
       "t.toml:5:12: error: 'measured' must be a text"},
      {whole("[[product]]\nuse = \"plain\"\n"), "t.toml:1:1: error: [[product]] without 'reason'"},
      {rule("product", ""), "t.toml:1:1: error: [[product]] without 'use'"},
      {rule("product", "use = \"tilde\""),
       "t.toml:3:7: error: 'use' must be one of \"matrix\", \"subgroup\", \"tiled\", \"plain\""},
      {rule("product", "use = \"tiled\""),
       "t.toml:1:1: error: the last [[product]] must use \"plain\""},
      {rule("product", "use = \"plain\"\nn4 = 1"),
       "t.toml:1:1: error: the last [[product]] must have no condition"},
      {rule("product", "use = \"tiled\"\n" + kPlainRule),
       "t.toml:1:1: error: a rule without a condition: no [[product]] behind it is ever asked"},
      {rule("product", "use = \"tiled\"\nown_groups = 1\n" + kPlainRule),
       "t.toml:4:1: error: unknown key 'own_groups' in [[product]]"},
      {rule("product", "use = \"tiled\"\ndevice = \"cpu\"\n" + kPlainRule),
       "t.toml:4:10: error: 'device' must be \"gpu\" or \"software\""},
      {rule("product", "use = \"tiled\"\nn4 = { from = 3, to = 2 }\n" + kPlainRule),
       "t.toml:4:6: error: 'n4' ends before it begins"},
      {rule("product", "use = \"tiled\"\nn4 = { form = 3 }\n" + kPlainRule),
       "t.toml:4:8: error: unknown key 'form' in 'n4'; the nearest is 'from'"},
      {rule("product", "use = \"tiled\"\nn4 = {}\n" + kPlainRule),
       "t.toml:4:6: error: 'n4' says nothing"},
      {rule("product", "use = \"tiled\"\nn4 = -1\n" + kPlainRule),
       "t.toml:4:6: error: 'n4' must be a whole number from 0 to "},
      {rule("product", "use = \"tiled\"\nn4 = { multiple_of = 1 }\n" + kPlainRule),
       "t.toml:4:22: error: 'multiple_of' must be a whole number from 2 to "},
      {rule("product",
            "use = \"tiled\"\ndevice = \"gpu\"\nmatrix_m = 1\nmatrix_n = 1\nrows = 1\n"
            "k4 = 1\nn4 = 1\nk4_n4 = 1\n" +
                kPlainRule),
       "t.toml:1:1: error: [[product]] with more than 6 conditions"},
      {rule("tiled_shape", "use = 3"), "t.toml:3:7: error: 'use' must be a table of x, y, z, "},
      {rule("tiled_shape", "use = { x = 8, y = 8, z = 1 }"),
       "t.toml:3:7: error: 'use' without 'tile_k4'"},
      {rule("tiled_shape", "use = { x = 8, y = 8, z = 1, w = 1, tile_k4 = 4 }"),
       "t.toml:3:30: error: unknown key 'w' in 'use'"},
      {rule("tiled_shape", "use = { x = 8, y = 8, z = 2, tile_k4 = 4 }"),
       "t.toml:3:7: error: 'z' must be 1 or 4"},
      {rule("tiled_shape", "use = { x = 8, y = 8, z = 4, tile_k4 = 6 }"),
       "t.toml:3:7: error: 'tile_k4' must be a multiple of 'z'"},
      {rule("tiled_shape", "use = { x = 16, y = 16, z = 1, tile_k4 = 4 }"),
       "t.toml:3:7: error: 256 invocations; a shape that does not share K has 128 at most"},
      {rule("tiled_shape", "use = { x = 32, y = 2, z = 4, tile_k4 = 4 }"),
       "t.toml:3:7: error: 256 invocations; a shape of [[tiled_shape]] has 128 at most"},
      // 16 * (8 * (32 * 4 + 2) + 4 * 8 * 4 + 4 * 32 * 4 * 0 + 1)
      {rule("tiled_shape", "use = { x = 4, y = 32, z = 1, tile_k4 = 8 }"),
       "t.toml:3:7: error: 18704 bytes of workgroup memory in fp32; devices have no more than "
       "16384"},
      {rule("matrix_tile", tile + "1, tile_k4 = 4 }"),
       "t.toml:3:7: error: 'tile_k4' must be a multiple of 4 times 'groups_k'"},
      {rule("matrix_tile", tile + "{ n8 = 1 }, tile_k4 = 8 }"),
       "t.toml:3:80: error: 'matrices_n' must be a number, or a table of n8, n16"},
      {rule("matrix_tile", tile + "{ n8 = 1, n16 = 9 }, tile_k4 = 8 }"),
       "t.toml:3:96: error: 'matrices_n' must be a whole number from 1 to 8"},
      {rule("matrix_tile", "rows = 3\n" + tile + "1, tile_k4 = 8 }"),
       "t.toml:1:1: error: the last [[matrix_tile]] must have no condition"},
      {rule("separable_tile", separable + "tile_k4 = 4, tile_w = 6 }"),
       "t.toml:3:91: error: 'tile_w' must be a power of two"},
      {rule("separable_tile", separable + "tile_k4 = 6, tile_w = 4 }"),
       "t.toml:3:7: error: 'tile_k4' must be a multiple of 4"},
  };
  for (const Case& c : cases) {
    INFO(c.text.substr(0, 300));
    CHECK_THAT(fault(c.text), StartsWith(c.message));
  }
}

TEST_CASE("tuning: what is missing is named", "[tuning]") {
  const std::string nothing = fault("");
  CHECK_THAT(nothing, ContainsSubstring("error: no [[number]] 'linear_group'"));
  CHECK_THAT(nothing, ContainsSubstring("error: no [[number]] 'depthwise_jobs'"));
  CHECK_THAT(nothing, ContainsSubstring("error: no [[matrix_tile]]"));
  // The lists that put something in the place of another choice may be empty.
  CHECK(nothing.find("_split") == std::string::npos);
  CHECK(parse(whole("")).ok());
}

TEST_CASE("tuning: the program checks the file and writes the header whole or not at all",
          "[tuning][program]") {
  const test::Shell s;
  const std::string shipped = std::string(SPIRKILN_SOURCE_ROOT) + "/variants/tuning.toml";
  REQUIRE(s.run("tuning " + shipped).status == 0);
  const auto header = s.run("tuning " + shipped + " -o -");
  CHECK(header.status == 0);
  CHECK_THAT(header.out, ContainsSubstring("\ninline constexpr Tuning kTable{\n"));
  CHECK_THAT(header.out, ContainsSubstring("\n    .linear_group_wide_from = 262144,\n"));
  REQUIRE(s.run("tuning " + shipped + " -o t.hpp").status == 0);
  CHECK(s.read("t.hpp") == header.out);

  s.write("bad.toml", whole("[[product]]\nuse = \"plain\"\n"));
  const auto bad = s.run("tuning bad.toml -o t.hpp");
  CHECK(bad.status == 1);
  CHECK(bad.err == "bad.toml:1:1: error: [[product]] without 'reason'\n");
  CHECK(s.read("t.hpp") == header.out);
  s.write("own.toml", whole(""));
  CHECK(s.run("tuning own.toml -o own.toml").status == 1);  // what it reads is not written over
  CHECK(s.read("own.toml") == whole(""));
  CHECK(s.run("tuning").status == 2);
}
