// SPDX-License-Identifier: Apache-2.0
// Each misuse of the dialect is one message for all variants that share it, at the kernel's own
// place and about the word that its author wrote.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

constexpr std::string_view kHead =
    "#version 450\n"
    "layout(binding = 0) buffer A { sfpvec4 a[]; };\n"
    "layout(binding = 1) buffer B { sfp b[]; };\n";

constexpr std::string_view kAll = "\n  in all 5 variants of k";

// The messages of a bake of one kernel that begins with kHead, without the folder's name.
std::vector<std::string> said(std::string_view code) {
  const test::Workspace w;
  w.write("kernels/m.toml", "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\n");
  w.write("kernels/k.comp", std::string(kHead) + std::string(code));
  w.write("kernels/inc.glsl", "float twice(float x) {\n  return buffer_ld1(b);\n}\n");
  gen::BakeOptions options = w.options();
  options.jobs = 1;
  const auto run = test::run_bake(options);
  CHECK_FALSE(run.result.ok());
  CHECK_FALSE(w.exists("out"));
  const std::string folder = (w / "kernels/").string();
  std::vector<std::string> messages = run.messages;
  for (std::string& m : messages) {
    for (auto at = m.find(folder); at != std::string::npos; at = m.find(folder)) {
      m.erase(at, folder.size());
    }
  }
  return messages;
}

struct Case {
  std::string code;      // from line 4 on
  std::string expected;  // line:column: error: ..., in all variants unless `where` says more
  std::string where = std::string(kAll);
};

void check(const Case& c) {
  INFO(c.code);
  const auto messages = said(c.code);
  for (const auto& m : messages) UNSCOPED_INFO(m);
  REQUIRE(messages.size() == 1);
  CHECK(messages[0] == "k.comp:" + std::string(c.expected) + std::string(c.where));
}

}  // namespace

TEST_CASE("must not compile: unknown types", "[misuse]") {
  check({"void main() {\n  afpvec3 v = afpvec3(0);\n}\n",
         "5:3: error: 'afpvec3': undeclared identifier"});
  check({"layout(binding = 2) buffer C { sfpvec3 c[]; };\nvoid main() {}\n",
         "4:32: error: 'sfpvec3': no such type"});
  check({"float f(afpvec3 v) { return 1.0; }\nvoid main() {}\n",
         "4:9: error: 'afpvec3': no such type"});
  check({"shared lfpvec3 tile[4];\nvoid main() {}\n", "4:8: error: 'lfpvec3': no such type"});
}

TEST_CASE("must not compile: the wrong number of arguments", "[misuse]") {
  check({"void main() {\n  afpvec4 v = buffer_ld4(a);\n}\n",
         "5:15: error: 'buffer_ld4': too few arguments; expected buffer_ld4(buf, i)"});
  check({"void main() {\n  buffer_st4(a, 0, 1, 2);\n}\n",
         "5:3: error: 'buffer_st4': too many arguments; expected buffer_st4(buf, i, v)"});
}

TEST_CASE("must not compile: arguments that do not fit", "[misuse]") {
  check({"void main() {\n  afp v = buffer_ld1(a, 0);\n}\n",
         "5:11: error: 'buffer_ld1': these arguments do not fit buffer_ld1(buf, i)"});
  check({"void main() {\n  afpvec4 v = buffer_ld4(b, 0);\n}\n",
         "5:15: error: 'buffer_ld4': these arguments do not fit buffer_ld4(buf, i)"});
  // What the kernel itself constructs wrongly is its own.
  check({"void main() {\n  afp v = buffer_ld1(b, 0) + vec2(1, 2, 3).x;\n}\n",
         "5: error: 'constructor': too many arguments"});
  // A statement before it is not to blame.
  check({"void main() {\n  bool t;\n  buffer_st1(b, 0, afp(1));\n  t = 1;\n}\n",
         "7: error: 'assign': cannot convert from 'const int' to 'temp bool'"});
  check({"void main() {\n  buffer_st1(b, 0, afpvec4(1));\n}\n",
         "5:3: error: 'buffer_st1': these arguments do not fit buffer_st1(buf, i, v)"});
  check({"void main() {\n  buffer_st4(a,\n    0,\n    afp(1));\n}\n",
         "5:3: error: 'buffer_st4': these arguments do not fit buffer_st4(buf, i, v)"});
  check({"void main() {\n  buffer_cp4(a, 0, b, 0);\n}\n",
         "5:3: error: 'buffer_cp4': these arguments do not fit buffer_cp4(dst, di, src, si)"});
  check(
      {"layout(binding = 2) readonly buffer C { sfpvec4 c[]; };\n"
       "void main() {\n  buffer_st4(c, 0, afpvec4(1));\n}\n",
       "6:3: error: 'buffer_st4': l-value required \"C\" (can't modify a readonly buffer)"});
}

TEST_CASE("must not compile: raw access to stored values", "[misuse]") {
  check({"void main() {\n  afpvec4 v = afpvec4(a[1]);\n}\n",
         "5:23: error: 'a': stored values are touched through the dialect's functions only "
         "(strict)"});
}

TEST_CASE("must not compile: extensions that nobody asked for, or that are none", "[misuse]") {
  check({"void main() {\n  float v = subgroupAdd(1.0);\n}\n",
         "5:13: error: 'subgroupAdd': required extension not requested: "
         "GL_KHR_shader_subgroup_arithmetic"});
  check({"#extension GL_EXT_no_such : require\nvoid main() {}\n",
         "4:1: error: '#extension': extension not supported: GL_EXT_no_such"});
}

TEST_CASE("must not compile: macros and files that are not there", "[misuse]") {
  check({"#if ncnn_subgroupsize >= 4\n#endif\nvoid main() {}\n",
         "4:5: error: 'ncnn_subgroupsize': no such macro; the nearest is 'ncnn_subgroupSize'"});
  check({"#ifdef NCNN_fp16_packd\n#endif\nvoid main() {}\n",
         "4:8: error: 'NCNN_fp16_packd': no such macro; the nearest is 'NCNN_fp16_packed'"});
  const auto messages = said("#include \"nope.glsl\"\nvoid main() {}\n");
  REQUIRE(messages.size() == 1);
  CHECK_THAT(messages[0],
             StartsWith("k.comp:4:1: error: '#include': no such file; looked for 'nope.glsl', "));
  CHECK_THAT(messages[0], ContainsSubstring(std::string(kAll)));
}

TEST_CASE("must not compile: words of the dialect given another meaning", "[misuse]") {
  const std::string text = "': this word belongs to the dialect; choose another name";
  check({"#define buffer_ld4(x, y) 3\nvoid main() {}\n", "4:9: error: 'buffer_ld4" + text});
  check({"float afp;\nvoid main() {}\n", "4:7: error: 'afp" + text});
  check({"void buffer_ld4(int i) {}\nvoid main() {}\n", "4:6: error: 'buffer_ld4" + text});
  check({"void main() {\n  int afpvec4 = 3;\n}\n", "5:7: error: 'afpvec4" + text});
  check({"struct sfpvec4 { int x; };\nvoid main() {}\n", "4:8: error: 'sfpvec4" + text});
}

TEST_CASE("must not compile: psc() of what is no constant", "[misuse]") {
  const std::string block = "layout(push_constant) uniform parameter { int n; } p;\n";
  const std::string text =
      "error: 'n': psc() takes a specialization constant, 'layout(constant_id = N) const int n = "
      "0;'";
  check({"int n = 3;\n" + block + "void main() {\n  int x = psc(n);\n}\n", "7:15: " + text});
  check({block + "void main() {\n  int x = 1 +\n    psc(n);\n}\n", "7:9: " + text});
  check({block + "void main() {\n  int x = psc(3 + 4);\n}\n",
         "6:11: error: 'psc': takes the name of a specialization constant, and nothing else"});
}

TEST_CASE("must not compile: in some variants only, or in a file that is included", "[misuse]") {
  check({"void main() {\n#if NCNN_fp16_arithmetic\n  bogus;\n#endif\n}\n",
         "6:3: error: 'bogus': undeclared identifier",
         "\n  in 2 of 5 variants of k: k_fp16sa, k_fp16pa"});
  const auto messages = said("#include \"inc.glsl\"\nvoid main() {}\n");
  CHECK(messages ==
        std::vector<std::string>{"inc.glsl:2:10: error: 'buffer_ld1': too few arguments; expected "
                                 "buffer_ld1(buf, i)" +
                                 std::string(kAll)});
}

TEST_CASE("must not compile: what is legal stays legal", "[misuse]") {
  const test::Workspace w;
  w.write("kernels/m.toml", "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\n");
  w.write("kernels/k.comp",
          std::string(kHead) +
              "#define SC(id, name) layout(constant_id = id) const int name = 0;\n"
              "SC(0, w) SC(1, h)\n"
              "layout(constant_id = 2) const uint c = 0;\n"
              "layout(push_constant) uniform parameter { int w; int h; uint c; } p;\n"
              "struct Own { int x; };\n"
              "int area(Own own) { return psc(w) * psc(h) + own.x; }\n"
              "void main() {\n"
              "  const int half_w = psc(w) / 2;\n"
              "  if (gl_GlobalInvocationID.x < psc(c)) buffer_st1(b, half_w, afp(area(Own(1))));\n"
              "}\n");
  const auto run = test::run_bake(w.options());
  for (const auto& m : run.messages) UNSCOPED_INFO(m);
  CHECK(run.result.ok());
}
