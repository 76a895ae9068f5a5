// SPDX-License-Identifier: Apache-2.0
// Outputs change together or not at all, whatever fails at whatever moment.
#include "output_set.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <cstdlib>

#include "files.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kKernel =
    "#version 450\nlayout(binding = 0) buffer B { sfp b[]; };\n"
    "void main() { buffer_st1(b, 0, afp(FACTOR)); }\n";

std::string manifest(std::string_view factor) {
  return "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\ndefines = { FACTOR = \"" +
         std::string(factor) + "\" }\n";
}

using Files = std::map<std::string, std::string>;

// The program in a folder, with a fault if one is asked for.
struct Program : test::Workspace {
  Program() {
    write("k.comp", kKernel);
    write("m.toml", manifest("1.0"));
  }
  int bake(const std::string& fault = {}, const std::string& options = "--depfile o/k.d",
           const std::string& before = {}) const {
    std::string command = "cd '" + root().string() + "' && " + before;
    if (!fault.empty()) {
      command += "SPIRKILN_FAULT='" + fault + "' LD_PRELOAD='" + SPIRKILN_FAULTS + "' ";
    }
    command += std::string("'") + SPIRKILN_PROGRAM + "' bake m.toml --name k --out-dir o -j 1 " +
               "--no-cache --glsl '" + SPIRKILN_SOURCE_ROOT + "/glsl' " + options +
               " > out.txt 2> err.txt";
    const int status = std::system(("sh -c \"" + command + "\"").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // What a process that was killed left is none.
  Files outputs() const {
    Files all;
    if (!exists("o")) return all;
    for (const auto& entry : fs::directory_iterator(*this / "o")) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".tmp")) continue;
      all[name] = read("o/" + name);
    }
    return all;
  }
};

}  // namespace

TEST_CASE("outputs: a call that fails leaves all old files, and says which and why", "[outputs]") {
  const Program p;
  REQUIRE(p.bake() == 0);
  const Files old = p.outputs();
  REQUIRE(old.size() == 5);
  p.write("m.toml", manifest("2.0"));
  // The header and the depfile stay, so three files of the five change.
  const auto [call, nth] = GENERATE(Catch::Generators::table<std::string, int>(
      {{"write", 1}, {"write", 2}, {"write", 3}, {"rename", 1}, {"rename", 2}, {"rename", 3}}));
  INFO(call << " " << nth);
  REQUIRE(p.bake(call + " " + std::to_string(nth) + " " + std::to_string(ENOSPC)) == 1);
  CHECK_THAT(p.read("err.txt"), StartsWith("spirkiln: error: cannot write 'o/"));
  CHECK_THAT(p.read("err.txt"),
             ContainsSubstring("': No space left on device; free some space there\n"));
  CHECK(p.outputs() == old);
  // What failed is done by the next one.
  CHECK(p.bake() == 0);
  const Files fresh = p.outputs();
  CHECK(fresh != old);
  fs::remove_all(p / "o");
  REQUIRE(p.bake() == 0);
  CHECK(p.outputs() == fresh);
}

TEST_CASE("outputs: killed at any moment, the next bake repairs everything", "[outputs]") {
  const Program p;
  p.write("m.toml", manifest("2.0"));
  REQUIRE(p.bake() == 0);
  const Files fresh = p.outputs();
  fs::remove_all(p / "o");
  p.write("m.toml", manifest("1.0"));
  REQUIRE(p.bake() == 0);
  const Files old = p.outputs();
  p.write("m.toml", manifest("2.0"));
  const auto [call, nth] = GENERATE(Catch::Generators::table<std::string, int>({{"write", 1},
                                                                                {"write", 3},
                                                                                {"link", 1},
                                                                                {"link", 3},
                                                                                {"rename", 1},
                                                                                {"rename", 2},
                                                                                {"rename", 3}}));
  INFO(call << " " << nth);
  REQUIRE(p.bake(call + " " + std::to_string(nth) + " 0") != 0);
  // Every file is whole: the old one or the new one.
  for (const auto& [name, bytes] : p.outputs()) {
    INFO(name);
    CHECK((bytes == old.at(name) || bytes == fresh.at(name)));
  }
  SECTION("with the new sources") {
    REQUIRE(p.bake() == 0);
    CHECK(p.outputs() == fresh);
    for (const auto& entry : fs::directory_iterator(p / "o")) {
      CHECK(entry.path().extension() != ".tmp");
    }
  }
  SECTION("with the old ones again") {
    p.write("m.toml", manifest("1.0"));
    REQUIRE(p.bake() == 0);
    CHECK(p.outputs() == old);
  }
}

TEST_CASE("outputs: without hard links they are still written", "[outputs]") {
  const Program p;
  REQUIRE(p.bake() == 0);
  p.write("m.toml", manifest("2.0"));
  CHECK(p.bake("link 1 " + std::to_string(EPERM)) == 0);
}

TEST_CASE("outputs: a file too large for the process leaves nothing", "[outputs]") {
  const Program p;
  // One block: the table is larger. The signal's default is to end the process.
  const std::string trap = GENERATE("", "trap '' XFSZ; ");
  REQUIRE(p.bake({}, "--depfile o/k.d", trap + "ulimit -f 1; ") == 1);
  CHECK(p.read("err.txt") ==
        "spirkiln: error: cannot write 'o/k_table.bin': File too large; this process may write no "
        "file of that size (ulimit -f)\n");
  CHECK_FALSE(p.exists("o"));
}

TEST_CASE("outputs: folders are looked at before anything is written", "[outputs]") {
  const Program p;
  struct Case {
    const char* options;
    const char* said;
  };
  p.write("file", "");
  fs::create_directories(p / "folder");
  const std::string long_name(250, 'd');
  const std::string too_long = "--depfile " + long_name;
  const Case cases[] = {
      {"--depfile none/k.d",
       "cannot write 'none/k.d': No such file or directory; make its folder, or name another one"},
      {"--depfile file/k.d",
       "cannot write 'file/k.d': Not a directory; make its folder, or name another one"},
      {"--depfile folder",
       "cannot write 'folder': a folder has that name; remove it, or name another output"},
      {"--depfile o/k_table.bin", "two outputs are called 'o/k_table.bin'; name another one"},
      // Seen only when its temporary cannot be made: the table's exists by then.
      {too_long.c_str(), "': File name too long; name a shorter one"},
  };
  for (const Case& c : cases) {
    INFO(c.options);
    CHECK(p.bake({}, c.options) == 1);
    CHECK_THAT(p.read("err.txt"), StartsWith("spirkiln: error: "));
    CHECK_THAT(p.read("err.txt"), ContainsSubstring(c.said));
    CHECK_FALSE(p.exists("o"));
  }
  fs::create_directories(p / "o/k_table.hpp");
  CHECK(p.bake() == 1);
  CHECK(p.read("err.txt") ==
        "spirkiln: error: cannot write 'o/k_table.hpp': a folder has that name; remove it, or name "
        "another output\n");
  CHECK_FALSE(p.exists("o/k_table.bin"));
}

TEST_CASE("outputs: leftovers of a killed process go, and nothing else", "[outputs]") {
  const test::Workspace w;
  const std::vector<tool::Output> outputs = {{w / "a.bin", ""}, {w / "b/c.d", ""}};
  for (const char* name : {"a.bin.0123456789abcdef.tmp", "b/c.d.fedcba9876543210.tmp"}) {
    w.write(name, "x");
  }
  const char* kept[] = {"a.bin", "a.bin.0123456789abcde.tmp", "a.bin.0123456789abcdeg.tmp",
                        "x.bin.0123456789abcdef.tmp", "b/a.bin.0123456789abcdef.tmp"};
  for (const char* name : kept) w.write(name, "x");
  tool::remove_leftovers(outputs);
  CHECK_FALSE(w.exists("a.bin.0123456789abcdef.tmp"));
  CHECK_FALSE(w.exists("b/c.d.fedcba9876543210.tmp"));
  for (const char* name : kept) CHECK(w.exists(name));
}
