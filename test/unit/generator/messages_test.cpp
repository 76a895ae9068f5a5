// SPDX-License-Identifier: Apache-2.0
// What is said about texts and macros that are wrong as a whole: one error, at its place.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "expanded_text.hpp"
#include "macro_check.hpp"
#include "source_compiler.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

std::string said(const fs::path& kernel,
                 std::vector<std::pair<std::string, std::string>> defines = {}) {
  gen::SourceStore sources;
  auto source = sources.load(kernel);
  REQUIRE(source.ok());
  gen::SourceRequest request;
  request.source = *source;
  request.form = "fp16sa";
  request.defines = std::move(defines);
  request.glsl = fs::path(SPIRKILN_SOURCE_ROOT) / "glsl";
  const auto outcome = gen::compile_source(request, sources);
  std::string text;
  for (const auto& d : outcome.diagnostics) {
    gen::Diagnostic shown = d;
    shown.file = fs::path(d.file).filename().string();
    text += gen::to_string(shown) + "\n";
  }
  CHECK(outcome.ok == text.empty());
  return text;
}

}  // namespace

TEST_CASE("messages: what a whole kernel lacks or must not have", "[messages]") {
  const test::Workspace w;
  const auto of = [&](std::string_view text) { return said(w.write("k.comp", text)); };
  CHECK(of("#version 450\nvoid man() {}\n") ==
        "k.comp: error: no 'void main()'; every kernel has one\n");
  CHECK(of("#version 450\n\nint f(int x) { return f(x - 1); }\nvoid main() { f(3); }\n") ==
        "k.comp:3:5: error: 'f': this function calls itself; GLSL has no recursion\n");
  CHECK(of("#version 450\nint g(int x);\nint f(int x) { return g(x - 1); }\n"
           "int g(int x) {\n  return f(x);\n}\nvoid main() { f(3); }\n") ==
        "k.comp:3:5: error: 'f': this function comes back to itself through 'g'; GLSL has no "
        "recursion\n");
  CHECK(of("#version 310 es\nvoid main() {}\n") ==
        "k.comp:1:1: error: '#version 310 es': kernels are written in '#version 450' (or 460)\n");
  CHECK(of("// first\n  #version 430\nvoid main() {}\n") ==
        "k.comp:2:3: error: '#version 430': kernels are written in '#version 450' (or 460)\n");
  CHECK(of("void main() {}\n") ==
        "k.comp:1:1: error: expected '#version 450' as the first line of code\n");
  CHECK(of("#version 450\nvoid main() {}\n  /* never\nclosed\n") ==
        "k.comp:3:3: error: '/*': this comment has no end ('*/')\n");
  CHECK(of("#version 450 core // a comment\n/**/ void main() {} // /* none\n") == "");
  CHECK(of("#version 460\nvoid main() {}") == "");
}

TEST_CASE("messages: recursion in a file that is included", "[messages]") {
  const test::Workspace w;
  w.write("inc.glsl", "// words\n\nfloat h(float x) {\n  return h(x);\n}\n");
  CHECK(said(w.write("k.comp", "#version 450\n#include \"inc.glsl\"\nvoid main() { h(1.0); }\n")) ==
        "inc.glsl:3:7: error: 'h': this function calls itself; GLSL has no recursion\n");
}

TEST_CASE("messages: #line moves no position", "[messages]") {
  const test::Workspace w;
  w.write("inc.glsl", "#line 77 \"xx\"\n\nint q() { return bogus; }\n");
  CHECK(said(w.write("a.comp", "#version 450\n#include \"inc.glsl\"\nvoid main() {}\n")) ==
        "inc.glsl:3:18: error: 'bogus': undeclared identifier\n");
  CHECK(said(w.write("b.comp",
                     "#version 450\n# /* */ line 3 \\\n 4 \n#line 3\nvoid main() { foo; }\n")) ==
        "b.comp:5:15: error: 'foo': undeclared identifier\n");
  CHECK(said(w.write("c.comp", "#version 450\n#line 9\nvoid main() {}\n")) == "");
}

TEST_CASE("messages: only #line lines are blanked, and no line end", "[messages]") {
  const std::string kept = "#define line 3\n#if line\nint line = 4; // #line 5\n#endif\n";
  CHECK(gen::without_line_directives(kept) == kept);
  CHECK(gen::without_line_directives("a\n#line 5 \"b\"\nc\n") == "a\n           \nc\n");
  CHECK(gen::without_line_directives("#line 5\n#define A line\n") == "       \n#define A line\n");
}

TEST_CASE("messages: places in an expanded text", "[messages]") {
  const std::string text = "x\n#line 7 \"a.glsl\"\ny\nz\n#line 3\nw\n";
  const auto place = [&](char c) {
    const auto p = gen::place_of(text, text.find(c), "k.comp");
    return p.file + ":" + std::to_string(p.line);
  };
  CHECK(place('x') == "k.comp:1");
  CHECK(place('y') == "a.glsl:7");
  CHECK(place('z') == "a.glsl:8");
  CHECK(place('w') == "a.glsl:3");
}

TEST_CASE("messages: macros that are none, and values that reach beyond their line", "[messages]") {
  const test::Workspace w;
  const fs::path kernel = w.write("k.comp", "#version 450\nvoid main() {}\n");
  struct Case {
    std::string name;
    std::string value;
    const char* expected;
  };
  const Case cases[] = {
      {"A", "1\n2", "k.comp: error: -D A: a macro's value must be one line\n"},
      {"A", "1\r2", "k.comp: error: -D A: a macro's value must be one line\n"},
      {"A", "1 /* x", "opens a comment ('/*') and does not close it\n"},
      {"A", "/**/ 1 /*/", "opens a comment ('/*') and does not close it\n"},
      {"A", "1 \\", "ends in '\\', which would take the next line into it\n"},
      {"A", "\x01", "holds the control character 0x01\n"},
      {"A", std::string(5000, 'x'), "has at most 4096 bytes, not 5000\n"},
      {"", "1", "k.comp: error: '' is not a macro name: "},
      {"1A", "1", "k.comp: error: '1A' is not a macro name: "},
      {"A B", "1", "k.comp: error: 'A B' is not a macro name: "},
      {"A(x)", "1", "k.comp: error: 'A(x)' is not a macro name: "},
      {"\xc3\x84", "1", "' is not a macro name: "},
      {"gl_A", "1", "k.comp: error: the name 'gl_A' is reserved\n"},
      {"A__B", "1", "k.comp: error: the name 'A__B' is reserved\n"},
      {"psc", "1", "k.comp: error: the name 'psc' is reserved\n"},
      {std::string(300, 'x'), "1", "at most 256 letters\n"},
  };
  for (const Case& c : cases) {
    INFO(c.name << "=" << c.value);
    CHECK_THAT(said(kernel, {{c.name, c.value}}), ContainsSubstring(c.expected));
  }
  for (const char* good : {"", "1", "-1", "/* x */ 1", "1 // /* x", "a \\ b", "\t1"}) {
    INFO(good);
    CHECK_FALSE(gen::bad_macro_value(good));
  }
}

TEST_CASE("messages: a negative value of a macro stands where a number may", "[messages]") {
  const test::Workspace w;
  const fs::path kernel = w.write("k.comp",
                                  "#version 450\n#if A >= 0\n#error no\n#endif\n"
                                  "void main() { int x = 3-A; x = x-A*-A; }\n");
  CHECK(said(kernel, {{"A", "-1"}}) == "");
}
