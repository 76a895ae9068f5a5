// SPDX-License-Identifier: Apache-2.0
// Files of arguments: the expected words are those that GCC's own rules give.
#include "response_file.hpp"

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>

#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
using Words = std::vector<std::string>;

namespace {

Words expand(const Words& arguments) {
  auto words = gen::expand_response_files(arguments);
  INFO((words.ok() ? "" : words.error().message));
  REQUIRE(words.ok());
  return *words;
}

std::string fault(const Words& arguments) {
  const auto words = gen::expand_response_files(arguments);
  REQUIRE_FALSE(words.ok());
  return words.error().message;
}

}  // namespace

TEST_CASE("response files: words, quotes and backslashes", "[response]") {
  const test::Workspace w;
  const std::string at = "@" + w.write("a.rsp",
                                       "one  two\tthree\r\n"
                                       "'a b' \"c d\" e' 'f g\\ h\n"
                                       "'' \"it's\" 'say \"hi\"' back\\\\slash \\'q\\' '\\''\n"
                                       "$x #y @ c:\\\\d\n"
                                       "'two\nlines'")
                                   .string();
  CHECK(expand({"first", at, "last"}) ==
        Words{"first", "one", "two",  "three",      "a b",         "c d", "e f",
              "g h",   "",    "it's", "say \"hi\"", "back\\slash", "'q'", "'",
              "$x",    "#y",  "@",    "c:\\d",      "two\nlines",  "last"});
  CHECK(expand({"@" + w.write("empty", " \n\n ").string()}).empty());
}

TEST_CASE("response files: files in files, to a limit", "[response]") {
  const test::Workspace w;
  const std::string inner = w.write("in ner", "x y").string();
  const std::string outer = w.write("outer", "a '@" + inner + "' b").string();
  CHECK(expand({"@" + outer}) == Words{"a", "x", "y", "b"});
  const std::string self = (w / "self").string();
  w.write("self", "@" + self + " @" + self);
  CHECK_THAT(fault({"@" + self}), ContainsSubstring("does one name itself?"));
}

TEST_CASE("response files: what is wrong, and where", "[response]") {
  const test::Workspace w;
  const std::string missing = (w / "none").string();
  CHECK_THAT(fault({"@" + missing}), ContainsSubstring("cannot open '" + missing + "'"));
  CHECK_THAT(fault({"@" + missing}), ContainsSubstring("is written './@"));
  CHECK_THAT(fault({"@" + w.root().string()}), ContainsSubstring("not a regular file"));
  const std::string quote = w.write("quote", "a\nb 'c\nd").string();
  CHECK(fault({"@" + quote}) == quote + ":2: no ' ends what begins here");
  const std::string slash = w.write("slash", "a\\").string();
  CHECK(fault({"@" + slash}) == slash + ":1: a backslash at the end of the file");
  const std::string nul = w.write("nul", std::string_view("a\n\0b", 4)).string();
  CHECK_THAT(fault({"@" + nul}), ContainsSubstring(nul + ":2: a NUL byte"));
}

// More than a command line should carry, from a build engine that writes such files itself.
TEST_CASE("response files: Ninja's, with 300 defines and an odd folder", "[response]") {
  if (std::system("ninja --version > /dev/null 2>&1") != 0) SKIP("no ninja here");
  const test::Workspace w;
  std::string kernel = "#version 450\nlayout(binding = 0) buffer B { sfp b[]; };\n";
  std::string defines, short_of_one;
  for (int i = 0; i < 300; ++i) {
    kernel += fmt::format("#if D{0} != {0}\n#error D{0}\n#endif\n", i);
    defines += fmt::format(" -D D{0}={0}", i);
    if (i != 217) short_of_one += fmt::format(" -D D{0}={0}", i);
  }
  kernel += "void main() { buffer_st1(b, 0, afp(D299)); }\n";
  w.write("a b$c#d/many:1.comp", kernel);
  const auto ninja = [&](const std::string& some) {
    w.write("build.ninja",
            "rule spirv\n  command = '" + std::string(SPIRKILN_PROGRAM) +
                "' spirv 'a b$$c#d/many:1.comp' --variant fp32 --strict -o $out @$out.rsp\n"
                "  rspfile = $out.rsp\n  rspfile_content =" +
                some + "\nbuild many.spv: spirv\n");
    return std::system(("cd '" + w.root().string() + "' && ninja > log 2>&1").c_str());
  };
  REQUIRE(ninja(short_of_one) != 0);
  CHECK_THAT(w.read("log"), ContainsSubstring("many:1.comp"));
  CHECK_THAT(w.read("log"), ContainsSubstring("D217"));
  CHECK_FALSE(w.exists("many.spv"));
  const int status = ninja(defines);
  INFO(w.read("log"));
  REQUIRE(status == 0);
  REQUIRE(
      std::system(("cd '" + w.root().string() + "' && '" + SPIRKILN_PROGRAM +
                   "' spirv 'a b$c#d/many:1.comp' --variant fp32 --strict -o plain.spv" + defines)
                      .c_str()) == 0);
  CHECK(w.read("many.spv") == w.read("plain.spv"));
  CHECK(ninja(defines) == 0);
  CHECK_THAT(w.read("log"), ContainsSubstring("no work to do"));
}
