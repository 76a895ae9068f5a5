// SPDX-License-Identifier: Apache-2.0
// Known answers in manifests and files: what is refused and where, what a table has of them, and a
// kernel of somebody's own that is proved on the device.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "answer_codec.hpp"
#include "compile_object.hpp"
#include "link_objects.hpp"
#include "loader/device.hpp"
#include "proof/proofs.hpp"
#include "spirkiln/compute.hpp"
#include "table/answers.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::string_view kHead =
    "[[kernel]]\nname = \"gain\"\nsource = \"gain.comp\"\nvariants = [\"fp32\", \"fp16p\"]\n"
    "resources = [\"buffer\", \"image\"]\n"
    "[kernel.axes.TWICE]\nvalues = [0, 1]\n";

// y = slope * x (+ what was in y): a dispatch of vectors.
constexpr std::string_view kSource =
    "#version 450\n"
    "layout(local_size_x_id = 233) in;\n"
    "layout(constant_id = 0) const float slope = 1.0;\n"
    "#if NCNN_image_shader\n"
    "layout(binding = 0) uniform unfp sampler2D x;\n"
    "layout(binding = 1, imfmtc4) writeonly uniform unfp image2D y;\n"
    "#else\n"
    "layout(binding = 0) readonly buffer X { sfpvec4 x[]; };\n"
    "layout(binding = 1) buffer Y { sfpvec4 y[]; };\n"
    "#endif\n"
    "layout(push_constant) uniform P { uint count; float shift; } p;\n"
    "void main() {\n"
    "  uint i = gl_GlobalInvocationID.x;\n"
    "  if (i >= p.count) return;\n"
    "#if NCNN_image_shader\n"
    "  int j = int(i);\n"
    "  image2d_st4(y, ivec2(j, 0), image2d_ld4(x, ivec2(j, 0)) * afp(slope) + afp(p.shift));\n"
    "#else\n"
    "  afpvec4 v = buffer_ld4(x, i) * afp(slope) + afp(p.shift);\n"
    "  buffer_st4(y, i, TWICE == 1 ? v + buffer_ld4(y, i) : v);\n"
    "#endif\n"
    "}\n";

// Twelve values of a seed; y = 0.5 x - 1.
std::string answer(const std::string& extra = {}, double shift = -1) {
  AnswerBuffer x;
  x.count = 12;
  x.seed.seed = 9;
  std::string values;
  for (std::uint32_t i = 0; i < x.count; ++i) {
    values += std::to_string(0.5 * double{x.value(i)} + shift) + ", ";
  }
  return "[[kernel.answers]]\naxes = { TWICE = 0 }\nlocal_size = [2]\ngroups = [2]\n"
         "constants = { slope = 0.5 }\npush = [3, -1.0]\n"
         "buffers = [{ binding = 0, seed = 9, count = 12 }]\n" +
         extra + "[kernel.answers.result]\nbinding = 1\nvalues = [" + values +
         "]\ntolerance = { fp32 = 1e-5, fp16 = 1e-3 }\n";
}

struct Project : test::Workspace {
  explicit Project(const std::string& answers) {
    write("kernels/m.toml", std::string(kHead) + answers);
    write("kernels/gain.comp", kSource);
  }
};

// Without images, which the refusals are not about.
std::string refusal(std::string text) {
  test::Workspace p;
  std::string head(kHead);
  head.erase(head.find("resources"), std::string("resources = [\"buffer\", \"image\"]\n").size());
  p.write("kernels/m.toml", head + text);
  p.write("kernels/gain.comp", kSource);
  const auto run = test::run_bake(p.options());
  CHECK_FALSE(p.exists("out/test_table.bin"));
  return run.result.ok() ? "not refused" : run.result.error().message;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::vector<Answer> answers_of(const Table& table) {
  const auto bytes = table.attachment(kAnswersAttachment);
  REQUIRE(bytes.ok());
  const auto decoded = decode_answers(*bytes);
  REQUIRE(decoded.ok());
  return decoded->answers;
}

}  // namespace

TEST_CASE("answers: what a manifest says is in the table", "[answers]") {
  const Project p(answer());
  const auto run = test::run_bake(p.options());
  for (const auto& m : run.messages) UNSCOPED_INFO(m);
  INFO((run.result.ok() ? "" : run.result.error().message));
  REQUIRE(run.result.ok());
  const auto table = Table::from_file((p / "out/test_table.bin").string());
  REQUIRE(table.ok());
  const auto answers = answers_of(*table);
  REQUIRE(answers.size() == 1);
  const Answer& a = answers[0];
  CHECK(a.kernel == "gain");
  CHECK(a.axes == std::vector<std::pair<std::string, std::string>>{{"TWICE", "0"}});
  CHECK(a.local_size == std::array<std::uint32_t, 3>{2, 1, 1});
  CHECK(a.groups == std::array<std::uint32_t, 3>{2, 1, 1});
  CHECK(a.push == std::vector<std::uint32_t>{3, std::bit_cast<std::uint32_t>(-1.0f)});
  CHECK(a.constants[0].second == std::bit_cast<std::uint32_t>(0.5f));
  REQUIRE(a.result.values.size() == 12);
  for (std::uint32_t i = 0; i < 12; ++i) {
    const double right = 0.5 * double{a.buffers[0].value(i)} - 1;
    CHECK(std::abs(a.result.scale * a.result.values[i] - right) < 2e-4);
  }
  CHECK(a.result.tolerance[2] < 0);  // not for fp16 arithmetic
}

TEST_CASE("answers: objects carry them, and so do files of their own", "[answers]") {
  const Project inline_project(answer());
  REQUIRE(test::run_bake(inline_project.options()).result.ok());
  // The same, from a file that the manifest names, from one on the command line, and by an object.
  const std::string in_file = replaced(replaced(answer(), "[[kernel.answers]]", "[[answer]]"),
                                       "[kernel.answers.result]", "[answer.result]");
  const std::string named = replaced(in_file, "axes", "kernel = \"gain\"\naxes");
  const Project by_name("");
  by_name.write("kernels/m.toml", replaced(std::string(kHead), "[kernel.axes",
                                           "answers = \"more/gain.answers\"\n[kernel.axes"));
  by_name.write("kernels/more/gain.answers", named);
  auto run = test::run_bake(by_name.options());
  INFO((run.result.ok() ? "" : run.result.error().message));
  REQUIRE(run.result.ok());
  CHECK(by_name.read("out/test_table.bin") == inline_project.read("out/test_table.bin"));

  const Project by_option("");
  gen::BakeOptions options = by_option.options();
  options.answers = {by_option.write("gain.toml", named)};
  REQUIRE(test::run_bake(options).result.ok());
  CHECK(by_option.read("out/test_table.bin") == inline_project.read("out/test_table.bin"));
  CHECK_THAT(by_option.read("out/test.d"), ContainsSubstring("gain.toml"));
  // An edited answer is baked.
  by_option.write("gain.toml", replaced(named, "seed = 9", "seed = 8"));
  REQUIRE(test::run_bake(options).result.ok());
  CHECK(by_option.read("out/test_table.bin") != inline_project.read("out/test_table.bin"));

  gen::ObjectOptions object;
  static_cast<gen::SourceOptions&>(object) = inline_project.options();
  object.inputs = {inline_project / "kernels/m.toml"};
  object.output = inline_project / "m.spko";
  REQUIRE(gen::compile_object(object, {}).ok());
  gen::LinkOptions link;
  link.objects = {object.output};
  link.name = "test";
  link.out_dir = inline_project / "linked";
  REQUIRE(gen::link_objects(link).ok());
  CHECK(inline_project.read("linked/test_table.bin") == inline_project.read("out/test_table.bin"));
}

TEST_CASE("answers: a file may be of the kernels of several manifests that are compiled one by one",
          "[answers]") {
  const Project p("");
  const std::string of_gain =
      replaced(replaced(replaced(answer(), "[[kernel.answers]]", "[[answer]]"),
                        "[kernel.answers.result]", "[answer.result]"),
               "axes", "kernel = \"gain\"\naxes");
  gen::ObjectOptions options;
  static_cast<gen::SourceOptions&>(options) = p.options();
  options.inputs = {p / "kernels/m.toml"};
  options.output = p / "with.spko";
  options.answers = {p.write("gain.toml", of_gain)};
  REQUIRE(gen::compile_object(options, {}).ok());
  // The other manifest's kernel takes nothing from it, and is the same as without.
  const std::string other = replaced(std::string(kHead), "\"gain\"", "\"other\"");
  options.inputs = {p.write("kernels/other.toml", other)};
  options.output = p / "beside.spko";
  const auto alone = gen::compile_object(options, {});
  REQUIRE_FALSE(alone.ok());
  CHECK_THAT(alone.error().message, ContainsSubstring("no manifest has a kernel 'gain'"));
  options.beside = {p / "kernels/m.toml"};
  const auto beside = gen::compile_object(options, {});
  INFO((beside.ok() ? "" : beside.error().message));
  REQUIRE(beside.ok());
  options.answers.clear();
  options.output = p / "without.spko";
  REQUIRE(gen::compile_object(options, {}).ok());
  CHECK(p.read("beside.spko") == p.read("without.spko"));
  CHECK(p.read("with.spko") != p.read("without.spko"));
  // A name of nobody's stays an error, which knows the names of both.
  options.answers = {p.write("gain.toml", replaced(of_gain, "\"gain\"", "\"othr\""))};
  const auto wrong = gen::compile_object(options, {});
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(wrong.error().message, ContainsSubstring("no manifest has a kernel 'othr'; the "
                                                      "nearest is 'other'"));
}

TEST_CASE("answers: what does not fit is an error at its place", "[answers]") {
  const auto refused = [](const std::string& from, const std::string& to) {
    return refusal(replaced(answer(), from, to));
  };
  CHECK_THAT(refused("axes =", "axis ="),
             ContainsSubstring("m.toml:8:1: error: unknown key 'axis' in an answer; the nearest is "
                               "'axes'"));
  CHECK_THAT(refused("TWICE = 0", "TWICE = 2"), ContainsSubstring("is for no variant of 'gain'"));
  CHECK_THAT(
      refused("push = [3, -1.0]", "push = [3]"),
      ContainsSubstring("does not fit gain_fp16p: 8 bytes of push constants, the answer has 4"));
  CHECK_THAT(refused("slope = 0.5", "slop = 0.5"),
             ContainsSubstring("no specialization constant 'slop'; the nearest is 'slope'"));
  CHECK_THAT(refused("local_size = [2]", "local_size = [2, 2]"),
             ContainsSubstring("the workgroup's size is fixed to 1 along axis 1"));
  CHECK_THAT(refused("binding = 0, seed", "binding = 2, seed"),
             ContainsSubstring("nothing is given for binding 0"));
  CHECK_THAT(refused("binding = 1", "binding = 3"),
             ContainsSubstring("does not fit gain_fp16p: no binding 3, the result; it has 0, 1"));
  CHECK_THAT(refused("count = 12", "count = 13"),
             ContainsSubstring("13 values; tensors are whole"));
  CHECK_THAT(refused("seed = 9, count = 12", "count = 12"),
             ContainsSubstring("a buffer has 'values', or 'seed' and 'count'"));
  CHECK_THAT(refused("groups = [2]", "groups = [0]"), ContainsSubstring("'groups' must be"));
  CHECK_THAT(refused("fp16 = 1e-3", "fp16b = 1e-3"), ContainsSubstring("the nearest is 'fp16'"));
  CHECK_THAT(refused("fp16 = 1e-3", "fp16 = -1"), ContainsSubstring("a tolerance is 0 or more"));
  // What zeros pass; columns are those of the tolerance.
  CHECK_THAT(refused("fp16 = 1e-3", "fp16 = 3e38"),
             ContainsSubstring("m.toml:17:35: error: a kernel that stores zeros would pass: the "
                               "tolerance of fp16 must be below the largest value, 1."));
  CHECK_THAT(refused("fp32 = 1e-5", "fp32 = 2"), ContainsSubstring("m.toml:17:22: error: "));
  CHECK_THAT(refused("binding = 1\n", "binding = 1\nstep = 0.3\n"),
             ContainsSubstring("is no whole multiple of 'step'"));
  CHECK_THAT(refused("binding = 1\n", "binding = 1\nkind = \"bytes\"\n"),
             ContainsSubstring("bytes are whole numbers of 0 to 255"));
  CHECK_THAT(refused("binding = 1\n", "binding = 1\nbound = 1\n"),
             ContainsSubstring("belongs to an answer with 'subnormal'"));
  CHECK_THAT(refusal("[[kernel]]\nname = \"b\"\nsource = \"gain.comp\"\n"
                     "answers = \"none.toml\"\n"),
             ContainsSubstring("m.toml:10:11: error: there is no file '") &&
                 ContainsSubstring("none.toml"));
  CHECK_THAT(refusal("[[kernel.answers]]\ngroups = [1]\n"),
             ContainsSubstring("an answer without 'result'"));

  // A kernel that no manifest has.
  const Project p("");
  gen::BakeOptions options = p.options();
  const std::string other =
      replaced(replaced(replaced(answer(), "[[kernel.answers]]", "[[answer]]\nkernel = \"grain\""),
                        "[kernel.answers.result]", "[answer.result]"),
               "TWICE", "TWICE");
  options.answers = {p.write("a.toml", other)};
  const auto run = test::run_bake(options);
  REQUIRE_FALSE(run.result.ok());
  CHECK_THAT(run.result.error().message,
             ContainsSubstring("a.toml:1:1: error: no manifest has a kernel 'grain'; the nearest "
                               "is 'gain'"));
}

namespace {

// Of every type, as constants and to push; in fp32 the word `either` is a float, else a uint.
struct Typed : test::Workspace {
  explicit Typed(const std::string& constants, const std::string& push,
                 const std::string& tolerance = "fp32 = 1e-5, fp16 = 1e-3") {
    write("kernels/m.toml",
          "[[kernel]]\nname = \"typed\"\nsource = \"typed.comp\"\n"
          "variants = [\"fp32\", \"fp16p\"]\n"
          "[[kernel.answers]]\ngroups = [1]\nlocal_size = [1]\n"
          "constants = { " +
              constants + " }\npush = [" + push +
              "]\nbuffers = []\n[kernel.answers.result]\nbinding = 0\nvalues = [1, 1, 1, 1]\n"
              "tolerance = { " +
              tolerance + " }\n");
    write("kernels/typed.comp",
          "#version 450\n"
          "layout(local_size_x_id = 233) in;\n"
          "layout(constant_id = 0) const float gain = 1.0;\n"
          "layout(constant_id = 1) const int shift = 1;\n"
          "layout(constant_id = 2) const uint count = 1;\n"
          "layout(constant_id = 3) const bool wide = false;\n"
          "#if NCNN_fp16_packed\n#define EITHER uint\n#else\n#define EITHER float\n#endif\n"
          "layout(push_constant) uniform P { float a; int b; uint c; EITHER either; } p;\n"
          "layout(binding = 0) writeonly buffer Y { sfpvec4 y[]; };\n"
          "void main() {\n"
          "  float v = gain * p.a + float(shift + p.b) + float(count + p.c) + float(p.either);\n"
          "  buffer_st4(y, 0, afpvec4(wide ? afp(v) : afp(0.0)));\n"
          "}\n");
  }
};

std::string refusal(const Typed& p) {
  const auto run = test::run_bake(p.options());
  CHECK_FALSE(p.exists("out/test_table.bin"));
  return run.result.ok() ? "not refused" : run.result.error().message;
}

Answer baked(const Typed& p) {
  const auto run = test::run_bake(p.options());
  INFO((run.result.ok() ? "" : run.result.error().message));
  REQUIRE(run.result.ok());
  const auto table = Table::from_file((p / "out/test_table.bin").string());
  REQUIRE(table.ok());
  auto answers = answers_of(*table);
  REQUIRE(answers.size() == 1);
  return answers[0];
}

}  // namespace

TEST_CASE("answers: numbers are of the type that the kernel has them in", "[answers]") {
  using Bits = std::vector<std::uint32_t>;
  const auto constants = [](const Answer& a) {
    std::map<std::string, std::uint32_t> bits(a.constants.begin(), a.constants.end());
    return Bits{bits.at("gain"), bits.at("shift"), bits.at("count"), bits.at("wide")};
  };
  const std::string usual = "gain = 2, shift = -3, count = 4294967295, wide = true";
  // 2.0f is 0x40000000, 1.0f is 0x3f800000, 0.25f is 0x3e800000.
  Answer a = baked(Typed(usual, "1, -2, 3, 0"));
  CHECK(constants(a) == Bits{0x40000000, 0xfffffffd, 0xffffffff, 1});
  CHECK(a.push == Bits{0x3f800000, 0xfffffffe, 3, 0});
  // Bits stay bits; booleans are whole numbers where the kernel has these.
  a = baked(Typed("gain = 0x40000000, shift = 0xfffffffd, count = true, wide = 0",
                  "0x3e800000, 0b101, false, 0x2"));
  CHECK(constants(a) == Bits{0x40000000, 0xfffffffd, 1, 0});
  CHECK(a.push == Bits{0x3e800000, 5, 0, 2});
  // Where variants differ, the answer has the type of those that it is for.
  CHECK(baked(Typed(usual, "0.25, 0, 0, 2", "fp32 = 1e-5")).push ==
        Bits{0x3e800000, 0, 0, 0x40000000});
  CHECK(baked(Typed(usual, "0.25, 0, 0, 2", "fp16 = 1e-3")).push == Bits{0x3e800000, 0, 0, 2});
}

TEST_CASE("answers: a number that its type does not have is an error at its place", "[answers]") {
  const auto constant = [](const std::string& text) { return refusal(Typed(text, "0, 0, 0, 0")); };
  const auto push = [](const std::string& text) { return refusal(Typed("gain = 2", text)); };
  CHECK_THAT(constant("gain = 2, shift = 1.5"),
             ContainsSubstring("m.toml:8:33: error: 'shift' is of type int in typed_fp16p: "
                               "expected a whole number of -2147483648 to 2147483647, or its bits "
                               "(0x10)"));
  CHECK_THAT(constant("shift = 2147483648"),
             ContainsSubstring("m.toml:8:23: error: 'shift' is of"));
  CHECK_THAT(constant("count = 3.0"), ContainsSubstring("m.toml:8:23: error: 'count' is of type "
                                                        "uint in typed_fp16p: expected a whole "
                                                        "number of 0 to 4294967295"));
  CHECK_THAT(constant("count = -1"), ContainsSubstring("m.toml:8:23: error: 'count' is of"));
  CHECK_THAT(constant("wide = 2"), ContainsSubstring("m.toml:8:22: error: 'wide' is of type bool "
                                                     "in typed_fp16p: expected true or false"));
  CHECK_THAT(constant("wide = 0x2"), ContainsSubstring("'wide' is of type bool"));
  CHECK_THAT(constant("wide = 1.0"), ContainsSubstring("'wide' is of type bool"));
  CHECK_THAT(constant("gain = true"), ContainsSubstring("m.toml:8:22: error: 'gain' is of type "
                                                        "float in typed_fp16p: expected a number"));
  CHECK_THAT(push("0, 0.5, -1, 0"),
             ContainsSubstring("m.toml:9:12: error: the push constant at byte 4 is of type int in "
                               "typed_fp16p: expected a whole number") &&
                 ContainsSubstring("m.toml:9:17: error: the push constant at byte 8 is of type "
                                   "uint in typed_fp16p"));
  CHECK_THAT(push("0, 0, 0, 1"),
             ContainsSubstring("m.toml:9:18: error: the push constant at byte 12 is of type uint "
                               "in typed_fp16p and float in typed: give each type an answer of its "
                               "own, by 'axes' or 'tolerance', or give the number's bits (0x10)"));
  CHECK_THAT(push("4294967296, 0, 0, 0"), ContainsSubstring("m.toml:9:9: error: 'push': expected a "
                                                            "32-bit integer, or a float (2.0)"));
}

TEST_CASE("answers: classes that no answer is for are a warning, one a file", "[answers]") {
  const auto warnings = [](const gen::BakeOptions& options) {
    const auto run = test::run_bake(options);
    INFO((run.result.ok() ? "" : run.result.error().message));
    REQUIRE(run.result.ok());
    return run.messages;
  };
  CHECK(warnings(Project(answer()).options()).empty());
  auto said = warnings(Project(replaced(answer(), ", fp16 = 1e-3", "")).options());
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], ContainsSubstring("m.toml:8:1: warning: variants of these kernels run "
                                        "unproved, since no answer has a tolerance for their "
                                        "class: gain (fp16)"));

  // Of two kernels in one file, of which a third one is in no way part.
  const Project p("");
  const std::string head = replaced(std::string(kHead), ", \"fp16p\"", ", \"fp16p\", \"fp16pa\"");
  p.write("kernels/b.toml", replaced(head, "\"gain\"", "\"both\""));
  p.write("kernels/c.toml", replaced(head, "\"gain\"", "\"none\""));
  const auto of = [](const std::string& kernel, const std::string& from, const std::string& to) {
    return replaced(replaced(replaced(replaced(answer(), "[[kernel.answers]]", "[[answer]]"),
                                      "[kernel.answers.result]", "[answer.result]"),
                             "axes", "kernel = \"" + kernel + "\"\naxes"),
                    from, to);
  };
  gen::BakeOptions options = p.options();
  options.answers = {
      p.write("a.toml", of("gain", "fp32 = 1e-5, ", "") + of("both", "fp32", "fp32"))};
  said = warnings(options);
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], ContainsSubstring("a.toml:1:1: warning: ") &&
                          ContainsSubstring("class: both (fp16a), gain (fp32)"));
}

TEST_CASE("answers: a file of them among manifests is told from one", "[answers]") {
  const Project p("");
  p.write("kernels/answers.toml", "[[answer]]\nkernel = \"gain\"\n");
  const auto run = test::run_bake(p.options());
  REQUIRE_FALSE(run.result.ok());
  CHECK_THAT(run.result.error().message,
             ContainsSubstring("answers.toml:1:3: error: [[answer]] makes this a file of answers, "
                               "not a manifest: give it by --answers (ANSWERS in CMake)"));
}

TEST_CASE("answers: stored and read again they are the same; damaged ones are refused",
          "[answers]") {
  Answer a;
  a.kernel = "k";
  a.axes = {{"A", "1"}, {"B", "x"}};
  a.subnormal = true;
  a.subgroup = 8;
  a.local_size = {64, 2, 1};
  a.groups = {300, 1, 7};
  a.constants = {{"c", 0x3f800000}};
  a.push = {1, 0xffffffff};
  a.buffers.resize(3);
  a.buffers[0].count = 400;
  a.buffers[0].seed = {70000, 16, 20, 17, 5, 3, 0.5f, 2, 100};
  a.buffers[1] = {1, AnswerKind::kFloat, 3, {}, {1, -2, 0.25f}};
  a.buffers[2] = {2, AnswerKind::kBytes, 4, {}, {0, 255, 7, 128}};
  a.result.binding = 3;
  a.result.values = {1, -1, 32767, AnswerResult::kNotCompared};
  a.result.scale = 0x1p-24f;
  a.result.bound = 0.5f;
  a.result.tolerance = {-1, 0.25f, 0.5f};
  Answer blunt = a;
  blunt.subnormal = false;
  for (const float t : {0.49f, 0.5f, 3e38f}) {
    blunt.result.scale = 0.5f / 32767;  // so that the largest value is 0.5
    blunt.result.tolerance = {-1, t, -1};
    const std::string blunt_bytes = gen::encode_answers(std::span(&blunt, 1));
    const auto read = decode_answers(std::as_bytes(std::span(blunt_bytes)));
    CHECK(read.ok() == (t < 0.5f));
    if (!read.ok()) CHECK_THAT(read.error().message, ContainsSubstring("lets zeros pass"));
  }
  const Answer both[] = {a, a};
  const std::string stored = gen::encode_answers(both);
  const auto bytes = std::as_bytes(std::span(stored));
  const auto decoded = decode_answers(bytes);
  REQUIRE(decoded.ok());
  REQUIRE(decoded->answers.size() == 2);
  CHECK(decoded->hashes[0] == decoded->hashes[1]);
  CHECK(gen::encode_answers(decoded->answers) == stored);
  const AnswerBuffer& seeded = decoded->answers[1].buffers[0];
  CHECK(seeded.value(17) == 100);  // behind what is used of a row
  CHECK(seeded.value(3 * 20) == 100);  // a row that is not used
  CHECK(std::abs(seeded.value(0) - 0.5f) <= 2);
  CHECK(decoded->answers[0].buffers[2].value(1) == 255);
  // Wherever it is cut but between the two, and whatever is changed: an error or answers in bounds.
  for (std::size_t cut = 1; cut < stored.size(); ++cut) {
    CHECK(decode_answers(bytes.first(cut)).ok() == (cut == stored.size() / 2));
  }
  for (std::size_t i = 0; i < stored.size(); ++i) {
    for (const int bit : {0, 3, 6, 7}) {
      std::string other = stored;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      const auto read = decode_answers(std::as_bytes(std::span(other)));
      if (!read.ok()) continue;
      for (const Answer& r : read->answers) {
        CHECK(r.result.values.size() <= kMaxAnswerValues);
        for (const AnswerBuffer& b : r.buffers) CHECK(b.value(b.count - 1) == b.value(b.count - 1));
      }
    }
  }
}

namespace {

std::map<std::string, Verdict> proved(const test::Workspace& p) {
  auto table = Table::from_file((p / "out/test_table.bin").string());
  REQUIRE(table.ok());
  DeviceOptions options;
  options.backend = "vulkan";
  options.no_cache = true;
  options.validation = true;
  auto device = open_device(options, table);
  if (!device) SKIP("no Vulkan device");
  std::vector<std::uint32_t> variants;
  for (std::uint32_t v = 0; v < table->variants().size(); ++v) variants.push_back(v);
  const auto judged = device->state()->proofs->judge(device->state(), *table, variants);
  INFO((judged.ok() ? "" : judged.error().message));
  REQUIRE(judged.ok());
  std::map<std::string, Verdict> verdicts;
  for (const auto& j : *judged) {
    INFO(j.finding.failure);
    verdicts[std::string(table->string(table->variants()[j.variant].name))] = j.finding.verdict;
  }
  CHECK(device->validation_message_count() == 0);
  return verdicts;
}

}  // namespace

TEST_CASE("answers: a kernel of somebody's own is proved, and a wrong one found", "[answers]") {
  // What is in the result's buffer before counts for TWICE.
  const std::string twice =
      replaced(replaced(answer("", -1), "TWICE = 0", "TWICE = 1"), "[{ binding = 0",
               "[{ binding = 1, values = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] }, { binding = 0");
  const Project right(answer() + twice);
  auto run = test::run_bake(right.options());
  INFO((run.result.ok() ? "" : run.result.error().message));
  REQUIRE(run.result.ok());
  for (const auto& [name, verdict] : proved(right)) {
    INFO(name);
    CHECK(verdict == Verdict::kRight);
  }
  const Project wrong(answer("", -1.125));
  run = test::run_bake(wrong.options());
  INFO((run.result.ok() ? "" : run.result.error().message));
  REQUIRE(run.result.ok());
  for (const auto& [name, verdict] : proved(wrong)) {
    INFO(name);
    // Whoever gives no answer for TWICE = 1 has not proved it.
    CHECK(verdict == (name.ends_with("_twice") ? Verdict::kUnproven : Verdict::kWrong));
  }
}

namespace {

// What is said where the kernel is made on a fresh device.
std::string said_of(const test::Workspace& p, const compute::KernelRequest& request) {
  const auto table = KernelTable::open((p / "out/test_table.bin").string());
  REQUIRE(table.ok());
  std::string said;
  DeviceOptions options;
  options.no_cache = true;
  options.message = [&](Severity, std::string_view text) { said.append(text).append("\n"); };
  const auto device = compute::open_device(options, std::span(&*table, 1));
  if (!device) SKIP("no Vulkan device");
  (void)compute::Kernel::create(*device, *table, request).ok();
  return said;
}

}  // namespace

TEST_CASE("answers: variants that agree with each other point at the answer", "[answers]") {
  const compute::KernelRequest request{.kernel = "gain", .axes = {{"TWICE", "0"}}};
  const Project all(answer("", -1.125));
  REQUIRE(test::run_bake(all.options()).result.ok());
  const std::string said = said_of(all, request);
  CHECK_THAT(said, ContainsSubstring("kernel gain_fp16p gives wrong results") &&
                       ContainsSubstring("no other variant is left") &&
                       ContainsSubstring("all variants that were tried agree"));

  const Project one(replaced(answer("", -1.125), "fp32 = 1e-5, ", ""));
  REQUIRE(test::run_bake(one.options()).result.ok());
  const std::string untried = said_of(one, request);
  CHECK_THAT(untried, ContainsSubstring("using gain instead (not tried: "));
  CHECK(untried.find("agree") == std::string::npos);  // one variant agrees with nobody
}
