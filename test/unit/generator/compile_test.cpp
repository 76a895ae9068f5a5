// SPDX-License-Identifier: Apache-2.0
// The compiling library: the document's samples, both editions in every variant, and what it says
// about texts that are wrong.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <random>
#include <spirv/unified1/spirv.hpp>

#include "compile_fixture.hpp"
#include "forms.hpp"
#include "spirkiln/compile.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

using Outcome = test::Compiled;

// The extension document's kernel, verbatim.
constexpr char kSample[] = R"(
#version 450

#if NCNN_fp16_storage
#extension GL_EXT_shader_16bit_storage: require
#endif
#if NCNN_fp16_arithmetic
#extension GL_EXT_shader_explicit_arithmetic_types_float16: require
#endif

layout (binding = 0) readonly buffer a_blob { sfpvec4 a_blob_data[]; };
layout (binding = 1) writeonly buffer b_blob { sfpvec4 b_blob_data[]; };

void main()
{
    const int i = int(gl_GlobalInvocationID.x);

    afpvec4 v = buffer_ld4(a_blob_data, i);

    v = v + 123;

    buffer_st4(b_blob_data, i, v);
}
)";

constexpr std::string_view kImages = R"(#version 450
layout(binding = 0) uniform unfp sampler1D s1;
layout(binding = 1) uniform unfp sampler2D s2;
layout(binding = 2) uniform unfp sampler3D s3;
layout(binding = 3, imfmtc4) writeonly uniform unfp image1D i1;
layout(binding = 4, imfmtc4) writeonly uniform unfp image2D i2;
layout(binding = 5, imfmtc4) writeonly uniform unfp image3D i3;
layout(binding = 6, imfmtc1) writeonly uniform unfp image3D c3;
#if !NCNN_image_shader
layout(binding = 7) writeonly buffer B { sfpvec4 b[]; };
#endif
#include "vulkan_activation.comp"
void main() {
  int i = int(gl_GlobalInvocationID.x);
  ivec2 q = ivec2(i);
  ivec3 r = ivec3(i);
  if (i > 1) image1d_st1(i1, i, image1d_ld1(s1, i)); else image2d_st1(i2, q, image2d_ld1(s2, q));
  if (i > 1) image1d_st4(i1, i, image1d_ld4(s1, i)); else image2d_st4(i2, q, image2d_ld4(s2, q));
  if (i > 1) image1d_st8(i1, i, image1d_ld8(s1, i)); else image2d_st8(i2, q, image2d_ld8(s2, q + 1));
  image3d_st1(c3, r, image3d_ld1(s3, r));
  image3d_st4(i3, r, image3d_ld4(s3, vec3(r)));
  image3d_st8(i3, r, image3d_ld8(s3, ivec3(i, 1, 2)));
  if (i > 1) image1d_cp1(i1, i, s1, i); else image1d_cp4(i1, i, s1, i);
  if (i > 1) image1d_cp8(i1, i, s1, i); else image2d_cp1(i2, q, s2, q);
  if (i > 1) image2d_cp4(i2, q, s2, q); else image2d_cp8(i2, q, s2, q);
  image3d_cp1(i3, r, s3, r);
  image3d_cp4(i3, r, s3, r);
  image3d_cp8(i3, r, s3, r);
  afpvec4 v = activation_afpvec4(image3d_ld4(s3, r), 5, 0.5, 1.0);
  v.x = activation_afp(v.x, 6, 0.1, 0.2) + activation_afpvec8(image3d_ld8(s3, r), 1, 0, 0)[0].x;
  image3d_st4(i3, r, v);
}
)";

constexpr std::string_view kAll2026 = R"(#version 450
#extension GL_GOOGLE_include_directive: enable
#include "vulkan_activation.comp"
layout(binding = 0) readonly buffer A1 { sfp a1[]; };
layout(binding = 1) readonly buffer A2 { sfpvec2 a2[]; };
layout(binding = 2) readonly buffer A4 { sfpvec4 a4[]; };
layout(binding = 3) writeonly buffer B1 { sfp b1[]; };
layout(binding = 4) writeonly buffer B2 { sfpvec2 b2[]; };
layout(binding = 5) writeonly buffer B4 { sfpvec4 b4[]; };
layout(binding = 6) buffer C1 { sint8 c1[]; };
layout(binding = 7) buffer C4 { sint8vec4 c4[]; };
layout(binding = 8) buffer D1 { sint16 d1[]; };
layout(binding = 9) buffer D4 { sint16vec4 d4[]; };
#ifdef sfpmat4
layout(binding = 10) buffer M { sfpmat4 m4[]; };
#endif
shared lfp l1[4];
shared lfpvec4 l4[4];
void main() {
  int i = int(gl_GlobalInvocationID.x);
  uint u = gl_GlobalInvocationID.x;
  ivec4 q = ivec4(i, i + 1, i + 2, i + 3);
  l1[0] = buffer_sm1(a1, i);
  l4[0] = buffer_sm4(a4, i);
  l1[1] = afp2lfp(buffer_ld1(a1, i));
  l4[1] = afp2lfpvec4(buffer_ld4(a4, i + 1));
  barrier();
  afp s = lfp2afp(l1[0]);
  afpvec4 v = lfp2afpvec4(l4[0]);
  if (i > 1) buffer_st1(b1, i + 1, s + s); else buffer_st1(b1, u, s);
  if (i > 1) buffer_st2(b2, i, buffer_ld2(a2, i)); else buffer_st4(b4, i, v + buffer_ld4(a4, i));
  if (i > 1) buffer_cp1(b1, i, a1, i); else buffer_cp2(b2, i, a2, i);
  if (i > 1) buffer_cp4(b4, i, a4, i); else buffer_cp1to4(b4, i, a1, q);
  if (i > 1) buffer_cp4to1(b1, q, a4, i); else buffer_cp4to1(b1, q + 4, a4, u);
  if (i > 1) i8buffer_st1(c1, i, i8buffer_ld1(c1, i)); else i8buffer_st4(c4, i, i8buffer_ld4(c4, i));
  if (i > 1) i8buffer_cp1(c1, i, c1, i); else i8buffer_cp4(c4, i, c4, i);
  if (i > 1) i8buffer_cp1to4(c4, i, c1, q); else i8buffer_cp4to1(c1, q, c4, i);
  c4[0] = i8buffer_sm4(c4, 2);
  aint16 t = i16buffer_ld1(d1, i);
  aint16vec4 t4 = i16buffer_ld4(d4, i);
  if (i > 1) i16buffer_st1(d1, i, t); else i16buffer_st2(d1, i, i16buffer_ld2(d1, i));
  if (i > 1) i16buffer_st4(d4, i, t4); else d4[1] = i16buffer_sm4(d4, 1);
  i16buffer_st4(d4, i, lint162aint16vec4(d4[1]));
  buffer_st1(b1, i, activation_afp(s, float2int8(float(s)), 0.0, 1.0));
  c4[3] = packInt4x8(float2int8vec4(vec4(v)));
#ifdef sfpmat4
  m4[0] = afp2sfpmat4(sfp2afpmat4(m4[1]));
#endif
}
)";

}  // namespace

TEST_CASE("compile: the document's sample in every variant", "[compile]") {
  for (const auto profile : {gen::kProfile2023, gen::kProfile2026}) {
    for (const auto form : gen::form_names(profile)) {
      if (form == "bf16s") continue;  // only where the compiler knows the type
      const Outcome outcome = test::compile_text(kSample, profile, form);
      INFO(profile << " " << form << "\n" << outcome.said);
      CHECK(outcome.ok);
    }
  }
}

TEST_CASE("compile: images in every variant that has them, and in the others", "[compile]") {
  for (const auto form : gen::form_names(gen::kProfile2023)) {
    const Outcome outcome = test::compile_text(kImages, gen::kProfile2023, form);
    INFO(form << "\n" << outcome.said);
    CHECK(outcome.ok);
  }
}

TEST_CASE("compile: the edition of 2026 in every variant and integer form", "[compile]") {
  const std::vector<std::vector<std::pair<std::string, std::string>>> integers = {
      {},
      {{"NCNN_int8_storage", "1"}, {"NCNN_int16_storage", "1"}, {"ncnn_shaderInt16", "1"}},
      {{"NCNN_int8_packed", "1"}, {"NCNN_int16_packed", "1"}},
      {{"NCNN_int16_storage", "1"}, {"ncnn_storageBuffer16BitAccess", "1"}},
  };
  for (const auto form : gen::form_names(gen::kProfile2026)) {
    if (form == "bf16s") continue;
    for (const auto& defines : integers) {
      const Outcome outcome = test::compile_text(kAll2026, gen::kProfile2026, form, defines);
      INFO(form << "\n" << outcome.said);
      CHECK(outcome.ok);
    }
  }
}

TEST_CASE("compile: tight scalars are exchanged, and copied without a conversion", "[compile]") {
  const std::string text = R"(#version 450
layout(binding = 0) readonly buffer A { sfp a[]; };
layout(binding = 1) readonly buffer A4 { sfpvec4 a4[]; };
layout(binding = 2) writeonly buffer B { sfp b[]; };
layout(binding = 3) writeonly buffer B4 { sfpvec4 b4[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  buffer_cp1(b, i, a, i + 1);
  buffer_cp4to1(b, uvec4(i), a4, i);
  buffer_cp1to4(b4, i, a, uvec4(i));
}
)";
  for (const auto form : {"fp16p", "fp16pa", "bf16p"}) {
    const Outcome outcome = test::compile_text(text, gen::kProfile2026, form);
    INFO(form << "\n" << outcome.said);
    REQUIRE(outcome.ok);
    CHECK(test::count_ops(outcome.words, spv::OpAtomicCompareExchange) == 2);
    CHECK(test::count_ops(outcome.words, spv::OpFConvert) == 0);
    CHECK(test::count_ops(outcome.words, spv::OpExtInst) == 0);
  }
  CHECK(test::count_ops(test::compile_text(text, gen::kProfile2026, "fp16s").words,
                        spv::OpAtomicCompareExchange) == 0);
}

TEST_CASE("compile: a kernel's own struct sfpvec8 is the dialect's", "[compile]") {
  const std::string_view text = R"(#version 450
#if NCNN_fp16_storage
#extension GL_EXT_shader_16bit_storage: require
struct sfpvec8 { f16vec4 abcd; f16vec4 efgh; };
#endif
layout(binding = 0) buffer A { sfpvec8 a[]; };
void main() { buffer_st8(a, 0, buffer_ld8(a, 1)); bogus; }
)";
  for (const auto form : gen::form_names(gen::kProfile2023)) {
    const Outcome outcome = test::compile_text(text, gen::kProfile2023, form);
    INFO(form);
    // What is blanked moves nothing.
    CHECK(outcome.said == "k.comp:7:51: error: 'bogus': undeclared identifier\n");
  }
}

TEST_CASE("compile: what must not compile says where and why", "[compile]") {
  const auto said = [](std::string_view text, bool strict = false) {
    const Outcome outcome = test::compile_text(text, "ncnn-2023", "fp16s", {}, strict);
    CHECK_FALSE(outcome.ok);
    return outcome.said;
  };
  CHECK(said("#version 450\nsfpvec3 f() {}\nvoid main() {}\n") ==
        "k.comp:2:1: error: 'sfpvec3': no such type\n");
  CHECK(said("#version 450\n#if NCNN_fp16_storge\n#endif\nvoid main() {}\n") ==
        "k.comp:2:5: error: 'NCNN_fp16_storge': no such macro; the nearest is "
        "'NCNN_fp16_storage'\n");
  CHECK(said("#version 450\n#if ncnn_shaderInt61\n#endif\nvoid main() {}\n") ==
        "k.comp:2:5: error: 'ncnn_shaderInt61': no such macro; the nearest is "
        "'ncnn_shaderInt64'\n");
  CHECK(said("#version 450\nlayout(binding = 0) buffer A { sfp a[]; };\nvoid main() {\n  a[0] = "
             "a[1];\n}\n",
             true) ==
        "k.comp:4:3: error: 'a': stored values are touched through the dialect's functions only "
        "(strict)\n"
        "k.comp:4:10: error: 'a': stored values are touched through the dialect's functions only "
        "(strict)\n");
  CHECK_THAT(test::compile_text("#version 450\nvoid main() {}\n", "ncnn-2026", "image").said,
             ContainsSubstring("profile ncnn-2026 has no variant 'image'"));
  CHECK_THAT(test::compile_text("#version 450\nvoid main() {}\n", "ncnn-2023", "fp32",
                                {{"NCNN_fp16_storage", "1"}})
                 .said,
             ContainsSubstring("comes from the variant"));
}

TEST_CASE("compile: device macros that are known are 0 until somebody says", "[compile]") {
  const std::string_view text =
      "#version 450\n#if ncnn_subgroupSize >= 16 && ncnn_VK_KHR_cooperative_matrix\nbogus\n#endif\n"
      "void main() {}\n";
  CHECK(test::compile_text(text, "ncnn-2026", "fp32").ok);
  CHECK_FALSE(
      test::compile_text(text, "ncnn-2026", "fp32",
                         {{"ncnn_subgroupSize", "32"}, {"ncnn_VK_KHR_cooperative_matrix", "2"}})
          .ok);
}

TEST_CASE("compile: the three forms of compile_spirv_module", "[compile]") {
  std::string said;
  Option option;
  option.message = [&](Severity, std::string_view text) { said = text; };
  std::vector<std::uint32_t> a;
  std::vector<std::uint32_t> b;
  INFO(said);
  REQUIRE(compile_spirv_module(kSample, option, a) == 0);
  REQUIRE(compile_spirv_module(kSample, sizeof(kSample) - 1, option, b) == 0);
  CHECK(a == b);
  REQUIRE(compile_spirv_module(kSample, sizeof(kSample), option, b) == 0);
  CHECK(a == b);
  option.use_fp16_storage = false;
  CHECK(variant_name(option) == "fp16pa");
  REQUIRE(compile_spirv_module(kSample, option, b) == 0);
  CHECK(a != b);
  REQUIRE(compile_spirv_module(LayerShaderType::convert_ycbcr, option, b) == 0);
  CHECK(compile_spirv_module(LayerShaderType::count, option, b) == -1);
  CHECK(b.empty());
  option.use_fp16_packed = false;
  CHECK(compile_spirv_module(kSample, option, b) == -1);
  CHECK_THAT(said, ContainsSubstring("fp16-arithmetic-requires-16-bit-storage"));
  CHECK(compile_spirv_module(static_cast<const char*>(nullptr), option, b) == -1);
}

TEST_CASE("compile: texts of any kind end in success or an error", "[compile]") {
  const std::vector<std::string> words = {"#version 450\n",
                                          "#if ",
                                          "NCNN_fp16_storage",
                                          "ncnn_x",
                                          "#endif\n",
                                          "sfpvec8",
                                          "buffer_st4(",
                                          "buffer_cp4to1(",
                                          ")",
                                          "(",
                                          "{",
                                          "}",
                                          ";",
                                          "void main()",
                                          "struct ",
                                          "[",
                                          "]",
                                          "afp ",
                                          "a",
                                          "1",
                                          ",",
                                          "=",
                                          "+",
                                          "\\\n",
                                          "\n",
                                          "/*",
                                          "*/",
                                          "//",
                                          "\"",
                                          "#include \"k.comp\"\n",
                                          "psc(",
                                          "image3d_ld8(",
                                          "#define ",
                                          "##",
                                          "\x80",
                                          "layout(binding = 0) buffer B { sfp a[]; };"};
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::string text = round % 4 != 0 ? "#version 450\n" : "";
    for (unsigned n = random() % 40; n > 0; --n) text += words[random() % words.size()] + " ";
    const Outcome outcome =
        test::compile_text(text, round % 2 ? "ncnn-2023" : "ncnn-2026", "fp16pa", {}, true);
    CHECK(outcome.ok == outcome.said.empty());
  }
  CHECK_FALSE(
      test::compile_text(std::string("#version 450\n\0void main() {}", 28), "ncnn-2023", "fp32")
          .ok);
  CHECK_FALSE(
      test::compile_text("#version 450\n//" + std::string(10u << 20, 'x'), "ncnn-2023", "fp32").ok);
}
