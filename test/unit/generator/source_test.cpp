// SPDX-License-Identifier: Apache-2.0
// What the front end does with sources of any kind, and what it says about them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kManifest = "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\n";

// The one message of a bake that must fail, with the workspace's own path taken out.
std::string failure(const test::Workspace& w) {
  gen::BakeOptions options = w.options();
  options.cache.reset();
  const test::BakeRun run = test::run_bake(options);
  REQUIRE_FALSE(run.result.ok());
  CHECK_FALSE(w.exists("out"));
  std::string text;
  for (const std::string& m : run.messages) text += m + "\n";
  for (const std::string root = w.root().string() + "/kernels/";;) {
    const auto at = text.find(root);
    if (at == std::string::npos) break;
    text.erase(at, root.size());
  }
  CHECK(run.messages.size() == 1);
  return text;
}

std::string failure(std::string_view kernel, std::string_view manifest = kManifest) {
  const test::Workspace w;
  w.write("kernels/m.toml", manifest);
  w.write("kernels/k.comp", kernel);
  return failure(w);
}

}  // namespace

TEST_CASE("errors carry the kernel's own file, line and column", "[source]") {
  CHECK(failure("// first\n#version 450\n\nvoid main() {\n  int a = bogus;\n}\n") ==
        "k.comp:5:11: error: 'bogus': undeclared identifier\n  in all 5 variants of k\n");
  // Line ends of another kind do not move it.
  CHECK(failure("// first\r\n#version 450\r\n\r\nvoid main() {\r\n  int a = bogus;\r\n}\r\n") ==
        "k.comp:5:11: error: 'bogus': undeclared identifier\n  in all 5 variants of k\n");
  CHECK_THAT(failure("#version 450\nvoid main() {\n#error boom\n}\n"),
             ContainsSubstring("k.comp:3:1: error: '#error': boom"));
}

TEST_CASE("an error in some variants names them, once", "[source]") {
  const std::string text =
      failure("#version 450\nvoid main() {\n#if NCNN_fp16_arithmetic\n  bogus = 1;\n#endif\n}\n");
  CHECK(text ==
        "k.comp:4:3: error: 'bogus': undeclared identifier\n"
        "  in 2 of 5 variants of k: k_fp16sa, k_fp16pa\n");
}

TEST_CASE("an error in an include nested two deep is at its own place", "[source]") {
  const test::Workspace w;
  w.write("kernels/m.toml", kManifest);
  w.write("kernels/k.comp", "#version 450\n#include \"a/one.glsl\"\nvoid main() {}\n");
  w.write("kernels/a/one.glsl", "// one\n#include \"two.glsl\"\n");
  w.write("kernels/a/two.glsl", "float f() {\n  return 1.0;\n}\nint g() {\n  return nope();\n}\n");
  CHECK_THAT(failure(w), ContainsSubstring("a/two.glsl:5:10: error: 'nope': "));
}

TEST_CASE("includes: missing, in a cycle, doubling, binary", "[source]") {
  const test::Workspace w;
  w.write("kernels/m.toml", kManifest);
  w.write("kernels/k.comp", "#version 450\n#include \"x.glsl\"\nvoid main() {}\n");
  SECTION("missing: every place is named") {
    const std::string text = failure(w);
    CHECK_THAT(text, ContainsSubstring("k.comp:2:1: error: '#include': no such file; looked for "
                                       "'x.glsl', '"));
    CHECK_THAT(text, ContainsSubstring("/glsl/x.glsl'"));
  }
  SECTION("cycle") {
    w.write("kernels/x.glsl", "#include \"y.glsl\"\n#include \"y.glsl\"\n");
    w.write("kernels/y.glsl", "#include \"x.glsl\"\n#include \"x.glsl\"\n");
    CHECK_THAT(failure(w), ContainsSubstring("nested deeper than 64; is there a cycle?"));
  }
  SECTION("each level includes the next twice") {
    w.write("kernels/x.glsl", "#include \"x0.glsl\"\n");
    for (int i = 0; i < 40; ++i) {
      const std::string next = "#include \"x" + std::to_string(i + 1) + ".glsl\"\n";
      w.write("kernels/x" + std::to_string(i) + ".glsl", next + next);
    }
    w.write("kernels/x40.glsl", "\n");
    CHECK_THAT(failure(w), ContainsSubstring("more than 4096 includes in one kernel"));
  }
  SECTION("binary") {
    w.write("kernels/x.glsl", std::string_view("a\n\0", 3));
    CHECK_THAT(failure(w), ContainsSubstring("x.glsl:2: error: a NUL byte"));
  }
}

TEST_CASE("sources that are no kernels", "[source]") {
  CHECK_THAT(failure(""), ContainsSubstring("k.comp:1:1: error: expected '#version 450'"));
  CHECK_THAT(failure("void main() {}\n"), ContainsSubstring("k.comp:1:1: error: expected"));
  CHECK_THAT(failure("/* open"), ContainsSubstring("k.comp:1:1: error: '/*': this comment"));
  CHECK_THAT(failure("#version 99\nvoid main() {}\n"), ContainsSubstring("error: "));
  CHECK_THAT(failure("#version 450\nvoid f() {}\n"),
             ContainsSubstring("k.comp: error: no 'void main()'"));
  CHECK_THAT(failure("#version 450\nvoid main() { gl_Position = vec4(0); }\n"),
             ContainsSubstring("k.comp:2:15: error: 'gl_Position': undeclared identifier"));
  CHECK_THAT(failure("#version 450\n#extension GL_EXT_no_such_thing : require\nvoid main() {}\n"),
             ContainsSubstring("GL_EXT_no_such_thing"));
}

TEST_CASE("nesting beyond the compiler's bounds is an error, not a crash", "[source]") {
  const std::string head =
      "#version 450\nlayout(binding = 0) buffer B { float b[]; };\nvoid main() { b[0] = ";
  const std::string manifest = std::string(kManifest) + "variants = [\"fp32\"]\n";
  const int n = 100000;
  CHECK_THAT(failure(head + std::string(n, '(') + "b[1]" + std::string(n, ')') + "; }\n", manifest),
             ContainsSubstring("k.comp:3: error: memory exhausted"));
  CHECK_THAT(
      failure("#version 450\nvoid main() " + std::string(n, '{') + std::string(n, '}'), manifest),
      ContainsSubstring("memory exhausted"));
  std::string ifs = "#version 450\n";
  for (int i = 0; i < 10000; ++i) ifs += "#if 1\n";
  CHECK_THAT(failure(ifs, manifest), ContainsSubstring("maximum nesting depth exceeded"));
}

TEST_CASE("line ends and a byte-order mark change nothing in the words", "[source]") {
  const std::string text =
      "#version 450\nlayout(binding = 0) buffer B { sfpvec4 b[]; };\n#define TWO \\\n  2.0\n"
      "void main() {\n  uint i = gl_GlobalInvocationID.x;\n"
      "  buffer_st4(b, i, buffer_ld4(b, i) * afp(TWO));\n}";
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const test::Workspace w;
  w.write("kernels/m.toml",
          "[[kernel]]\nname = \"lf\"\nsource = \"lf.comp\"\n"
          "[[kernel]]\nname = \"crlf\"\nsource = \"crlf.comp\"\n"
          "[[kernel]]\nname = \"bom\"\nsource = \"bom.comp\"\n");
  w.write("kernels/lf.comp", text);
  w.write("kernels/crlf.comp", crlf);
  w.write("kernels/bom.comp", "\xef\xbb\xbf" + text + "\n");
  const auto run = test::run_bake(w.options());
  REQUIRE(run.result.ok());
  CHECK(run.result->variants == 15);
  CHECK(run.result->texts == 5);
  CHECK(run.result->unique_blobs == 5);
}
