// SPDX-License-Identifier: Apache-2.0
// The code samples of the extension's document, verbatim but for the namespace, executed. What a
// sample leaves out (a #version line, where its result goes) is put around it or before its last
// brace.
#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "skipped.hpp"
#include "variants.hpp"
#include "vulkan_run.hpp"

using namespace spirkiln;
using namespace spirkiln::test;

namespace {

constexpr std::uint32_t kVectors = 4096;

constexpr const char* kLongForm = R"(#if NCNN_fp16_storage // GPU支持 16bit storage
layout (binding = 0) buffer blob { f16vec4 blob_data[]; };
#elif NCNN_fp16_packed // GPU支持 GLSL 4.2
layout (binding = 0) buffer blob { uvec2 blob_data[]; };
#else // GPU仅支持 fp32
layout (binding = 0) buffer blob { vec4 blob_data[]; };
#endif

void main()
{
    const int i = int(gl_GlobalInvocationID.x);

#if NCNN_fp16_storage && NCNN_fp16_arithmetic // GPU支持 16bit storage 和 shader float16
    f16vec4 x = blob_data[i];
#elif NCNN_fp16_storage // GPU支持 16bit storage 但不包含 shader float16
    vec4 x = vec4(blob_data[i]);
#elif NCNN_fp16_packed && NCNN_fp16_arithmetic // GPU支持 GLSL 4.2 和 shader float16
    f16vec4 x = f16vec4(unpackFloat2x16(blob_data[i].x), unpackFloat2x16(blob_data[i].y));
#elif NCNN_fp16_packed // GPU支持 GLSL 4.2
    vec4 x = vec4(unpackHalf2x16(blob_data[i].x), unpackHalf2x16(blob_data[i].y));
#else // GPU仅支持 fp32
    vec4 x = blob_data[i];
#endif
}
)";

constexpr const char* kShortForm = R"(layout (binding = 0) buffer blob { sfpvec4 blob_data[]; };

void main()
{
    const int i = int(gl_GlobalInvocationID.x);

    afpvec4 x = buffer_ld4(blob_data, i);
}
)";

static const char my_glsl_data[] = R"(
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

constexpr const char* kStorage =
    R"(layout (binding = 0) buffer top_blob { sfpvec4 top_blob_data[]; };
)";

constexpr const char* kArithmetic = R"(void main()
{
    afpvec4 v = a * b;
}
)";

constexpr const char* kLocal = R"(shared lfp tmp_a[8][4][2];
)";

constexpr const char* kImages =
    R"(layout (binding = 0) uniform unfp sampler3D bottom_blob_3d;
layout (binding = 1, imfmtc4) writeonly uniform unfp image3D top_blob_3d;
)";

constexpr const char* kConstants = R"(layout (constant_id = 0) const int size = 0;

layout (push_constant) uniform parameter
{
    int size;
} p;

void main()
{
    const int s = psc(size);
}
)";

constexpr const char* kMoltenvk = R"(#if NCNN_moltenvk
// 启用moltenvk的解决方法
#endif
)";

constexpr const char* kImageOrBuffer = R"(#if NCNN_image_shader
layout (binding = 0) uniform unfp sampler3D bottom_blob_3d;
#else
layout (binding = 0) readonly buffer bottom_blob { sfpvec4 bottom_blob_data[]; };
#endif
)";

constexpr const char* kResult =
    "layout (binding = 1) writeonly buffer result_blob { uint result[]; };\n";

// `text` with lines put before its last brace.
std::string ending(std::string text, const std::string& lines) {
  return text.insert(text.rfind('}'), lines);
}

// What is in binding 1 behind a run, or nothing where the device lacks something.
std::vector<std::uint32_t> run(const Variant& v, const std::vector<std::uint32_t>& words,
                               Binding from, Binding to, Codec codec, std::uint32_t groups,
                               Job job = {}) {
  job.name = v.title();
  if (const auto missing = lacks(device()->state()->caps, words)) {
    skipped()[v.title() + ": a sample of the document"] = *missing;
    return {};
  }
  job.words = words;
  job.bindings = {std::move(from), std::move(to)};
  job.groups = {groups, 1, 1};
  const Status status = run_jobs(*device(), {&job, 1});
  if (!status) FAIL(status.error().message);
  return unpack_lanes(codec, job.bindings[1].bytes);
}

Binding space(Codec codec, std::size_t lanes) {
  return {std::vector<std::byte>(lanes * bytes_of(codec)), {}};
}

float widened(Codec codec, std::uint32_t bits) {
  const auto half = static_cast<std::uint16_t>(bits);
  if (codec == Codec::kF16) return widen_half(half, conversions().convert_flushes);
  return codec == Codec::kBf16 ? widen_bf16(half) : std::bit_cast<float>(bits);
}

// A result of arithmetic as a vector's lane.
std::uint32_t stored(const Variant& v, float value) {
  if (v.vector == Codec::kF32) return std::bit_cast<std::uint32_t>(value);
  if (v.vector == Codec::kBf16) return narrow_bf16(value);
  if (v.half_arithmetic) return narrow_half(value);
  return narrow_half(value, v.packed ? conversions().pack : conversions().convert);
}

void check_lanes(Codec codec, const std::vector<std::uint32_t>& got,
                 const std::vector<std::uint32_t>& want) {
  if (got.empty()) return;
  REQUIRE(got.size() == want.size());
  std::size_t bad = 0, first = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!same_number(codec, got[i], want[i]) && bad++ == 0) first = i;
  }
  INFO("lane " << first << std::hex << ": expected " << want[first] << ", got " << got[first]);
  CHECK(bad == 0);
}

void check_123(const Variant& v, const std::vector<std::uint32_t>& words) {
  INFO(v.title());
  const auto lanes = values_of(v.vector, kVectors * 4);
  std::vector<std::uint32_t> want;
  // Sums of halves are rounded once: single precision holds more than twice the digits.
  for (const std::uint32_t bits : lanes) want.push_back(stored(v, widened(v.vector, bits) + 123));
  check_lanes(v.vector,
              run(v, words, {pack_lanes(v.vector, lanes), {}}, space(v.vector, lanes.size()),
                  v.vector, kVectors),
              want);
}

}  // namespace

TEST_CASE("samples: the long and the short form give the same", "[samples]") {
  for (const Variant& v : variants()) {
    if (v.is_2026()) continue;
    INFO(v.title());
    const std::string store =
        "    for (int k = 0; k < 4; ++k) result[i * 4 + k] = floatBitsToUint(float(x[k]));\n";
    const auto lanes = values_of(v.vector, kVectors * 4);
    std::vector<std::uint32_t> want;
    for (const std::uint32_t bits : lanes) {
      want.push_back(std::bit_cast<std::uint32_t>(widened(v.vector, bits)));
    }
    const auto result_of = [&](const char* form) {
      const std::string text = std::string("#version 450\n") + kResult + ending(form, store);
      return run(v, compile_for(v, text, "form.comp"), {pack_lanes(v.vector, lanes), {}},
                 space(Codec::kF32, lanes.size()), Codec::kF32, kVectors);
    };
    const auto long_form = result_of(kLongForm), short_form = result_of(kShortForm);
    CHECK(long_form == short_form);
    check_lanes(Codec::kF32, short_form, want);
  }
}

TEST_CASE("samples: v + 123 in every variant", "[samples]") {
  for (const Variant& v : variants()) check_123(v, compile_for(v, my_glsl_data, "sample.comp"));
}

TEST_CASE("samples: the call with a text and its size", "[samples]") {
  Option opt;
  // 您可以控制Vulkan扩展行为
  // 当GPU支持16位存储的话
  opt.use_fp16_storage = false;

  std::vector<uint32_t> spirv;
  spirkiln::compile_spirv_module(my_glsl_data, sizeof(my_glsl_data) - 1, opt, spirv);
  REQUIRE_FALSE(spirv.empty());
  REQUIRE(variant_name(opt) == "fp16pa");
  for (const Variant& v : variants()) {
    if (v.title() == "ncnn-2023 fp16pa") check_123(v, spirv);
  }
}

TEST_CASE("samples: the three declarations", "[samples]") {
  using Words = std::vector<uint32_t>;
  int (*text)(const char* comp_string, const Option& opt, Words& spirv) = compile_spirv_module;
  int (*data)(const char* comp_data, int comp_data_size, const Option& opt, Words& spirv) =
      compile_spirv_module;
  int (*index)(int shader_type_index, const Option& opt, Words& spirv) = compile_spirv_module;
  Option opt;
  Words of_text, of_data, of_index;
  CHECK(text(my_glsl_data, opt, of_text) == 0);
  CHECK(data(my_glsl_data, sizeof(my_glsl_data) - 1, opt, of_data) == 0);
  CHECK(index(LayerShaderType::convert_ycbcr, opt, of_index) == 0);
  CHECK(of_text == of_data);
  CHECK(of_index.size() > 5);
}

TEST_CASE("samples: macros say what the options say", "[samples]") {
  const char* macros[] = {"NCNN_fp16_packed",  "NCNN_fp16_storage",       "NCNN_fp16_arithmetic",
                          "NCNN_int8_packed",  "NCNN_int8_storage",       "NCNN_int8_arithmetic",
                          "NCNN_image_shader", "NCNN_shader_local_memory"};
  std::string text = std::string("#version 450\n") + kResult + "void main() {\n";
  for (std::size_t i = 0; i < std::size(macros); ++i) {
    text +=
        "#if " + std::string(macros[i]) + "\n  result[" + std::to_string(i) + "] = 1;\n#endif\n";
  }
  text += "}\n";
  // In the order of the macros: options, and what the kernel sees. Storage wins over packed.
  struct Row {
    std::array<bool, 8> options, seen;
  };
  constexpr bool T = true, F = false;
  for (const Row& row : {Row{{F, F, F, F, F, F, F, F}, {F, F, F, F, F, F, F, F}},
                         Row{{T, F, F, F, F, F, F, T}, {T, F, F, F, F, F, F, T}},
                         Row{{T, T, F, T, T, F, F, F}, {F, T, F, F, T, F, F, F}},
                         Row{{T, F, T, T, F, T, T, F}, {T, F, T, T, F, T, T, F}},
                         Row{{F, T, T, F, T, T, F, T}, {F, T, T, F, T, T, F, T}},
                         Row{{T, T, T, T, T, T, T, T}, {F, T, T, F, T, T, T, T}}}) {
    Option opt;
    opt.use_fp16_packed = row.options[0];
    opt.use_fp16_storage = row.options[1];
    opt.use_fp16_arithmetic = row.options[2];
    opt.use_int8_packed = row.options[3];
    opt.use_int8_storage = row.options[4];
    opt.use_int8_arithmetic = row.options[5];
    opt.use_image_storage = row.options[6];
    opt.use_shader_local_memory = row.options[7];
    const Compiled compiled = try_compile(opt, text, "macros.comp");
    INFO(variant_name(opt) << " " << compiled.said);
    const auto got = run(variants().front(), compiled.words, space(Codec::kF32, 1),
                         space(Codec::kF32, 8), Codec::kF32, 1);
    CHECK(got == std::vector<std::uint32_t>(row.seen.begin(), row.seen.end()));
  }
}

TEST_CASE("samples: storage, arithmetic and local types", "[samples]") {
  for (const Variant& v : variants()) {
    if (v.is_2026() || v.on_images()) continue;
    INFO(v.title());
    const auto lanes = values_of(v.vector, kVectors * 4);
    const std::string head =
        "#version 450\nlayout (binding = 1) writeonly buffer O { sfpvec4 o[]; };\n";
    const std::string text =
        head + kStorage +
        "afpvec4 a = buffer_ld4(top_blob_data, int(gl_GlobalInvocationID.x));\n"
        "afpvec4 b = afpvec4(afp(0.5));\n" +
        ending(kArithmetic, "    buffer_st4(o, int(gl_GlobalInvocationID.x), v);\n");
    std::vector<std::uint32_t> want;
    for (const std::uint32_t bits : lanes) {
      // Half of a half is exact in single precision and rounded once.
      want.push_back(stored(v, widened(v.vector, bits) * 0.5f));
    }
    // Products that are subnormal floats may be 0; none of the values that matter here is.
    std::vector<std::uint32_t> kept_lanes = lanes;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      if (v.vector != Codec::kF32 || std::abs(widened(v.vector, lanes[i])) >= 0x1p-120f) continue;
      kept_lanes[i] = want[i] = 0;
    }
    check_lanes(v.vector,
                run(v, compile_for(v, text, "types.comp"), {pack_lanes(v.vector, kept_lanes), {}},
                    space(v.vector, lanes.size()), v.vector, kVectors),
                want);

    const std::string local = std::string("#version 450\nlayout(local_size_x = 64) in;\n") +
                              kResult + "layout(binding = 0) buffer A { sfp src[]; };\n" + kLocal +
                              R"(void main() {
  int i = int(gl_GlobalInvocationID.x);
  int t = int(gl_LocalInvocationID.x);
  tmp_a[t / 8][t / 2 % 4][t % 2] = sfp2lfp(src[i]);
  barrier();
  t = 63 - t;
  result[i] = floatBitsToUint(float(lfp2afp(tmp_a[t / 8][t / 2 % 4][t % 2])));
}
)";
    // Small whole numbers are the same in every type.
    std::vector<std::uint32_t> numbers(4096), turned(4096);
    for (std::uint32_t i = 0; i < 4096; ++i) {
      const float value = static_cast<float>(i % 2048);
      numbers[i] =
          v.scalar == Codec::kF32 ? std::bit_cast<std::uint32_t>(value) : narrow_half(value);
      turned[i ^ 63] = std::bit_cast<std::uint32_t>(value);
    }
    check_lanes(Codec::kF32,
                run(v, compile_for(v, local, "local.comp"), {pack_lanes(v.scalar, numbers), {}},
                    space(Codec::kF32, 4096), Codec::kF32, 64),
                turned);
  }
}

TEST_CASE("samples: images", "[samples]") {
  for (const Variant& v : variants()) {
    if (v.is_2026()) continue;
    INFO(v.title());
    // Whole numbers again; none is rounded by an image.
    std::vector<std::uint32_t> lanes(16 * 8 * 4 * 4);
    for (std::uint32_t i = 0; i < lanes.size(); ++i) {
      const float value = static_cast<float>(i % 2048) - 1000;
      lanes[i] = v.image4 == Codec::kF32 ? std::bit_cast<std::uint32_t>(value) : narrow_half(value);
    }
    ImageShape shape{.dims = 3, .half = v.image4 == Codec::kF16, .w = 16, .h = 8, .d = 4};
    const Binding to{std::vector<std::byte>(lanes.size() * bytes_of(v.image4)), shape};
    shape.sampled = true;
    const Binding from{pack_lanes(v.image4, lanes), shape};
    const std::string copy = std::string(
                                 "#version 450\nlayout(local_size_x = 16, local_size_y = "
                                 "8, local_size_z = 4) in;\n") +
                             kImages +
                             "void main() {\n  ivec3 q = ivec3(gl_GlobalInvocationID);\n"
                             "  image3d_st4(top_blob_3d, q, image3d_ld4(bottom_blob_3d, q));\n}\n";
    check_lanes(v.image4, run(v, compile_for(v, copy, "copy.comp"), from, to, v.image4, 1), lanes);

    const std::string text = std::string("#version 450\n") + kImageOrBuffer + kResult + R"(
void main() {
  const int i = int(gl_GlobalInvocationID.x);
#if NCNN_image_shader
  afpvec4 v = image3d_ld4(bottom_blob_3d, ivec3(i % 16, i / 16 % 8, i / 128));
#else
  afpvec4 v = buffer_ld4(bottom_blob_data, i);
#endif
  for (int k = 0; k < 4; ++k) result[i * 4 + k] = floatBitsToUint(float(v[k]));
}
)";
    std::vector<std::uint32_t> want;
    for (const std::uint32_t bits : lanes) {
      want.push_back(std::bit_cast<std::uint32_t>(widened(v.image4, bits)));
    }
    check_lanes(
        Codec::kF32,
        run(v, compile_for(v, text, "either.comp"), v.on_images() ? from : Binding{from.bytes, {}},
            space(Codec::kF32, lanes.size()), Codec::kF32,
            static_cast<std::uint32_t>(lanes.size() / 4)),
        want);
  }
}

TEST_CASE("samples: psc, and what a platform's macro says", "[samples]") {
  const Variant& v = variants().front();
  const std::string text = std::string("#version 450\n") + kResult + kConstants;
  const auto words = compile_for(v, ending(text, "    result[0] = uint(s);\n"), "psc.comp");
  for (const bool constant : {false, true}) {
    Job job;
    if (constant) job.specs = {{0, 77}};
    job.push = {constant ? 0u : 77u};
    CHECK(run(v, words, space(Codec::kF32, 1), space(Codec::kF32, 1), Codec::kF32, 1, job) ==
          std::vector<std::uint32_t>{77});
  }

  std::string workaround = kMoltenvk;
  workaround.insert(workaround.find("#endif"), "#define VALUE 5\n#else\n#define VALUE 6\n");
  for (const bool moltenvk : {false, true}) {
    Option option = option_of(v);
    option.moltenvk = moltenvk;
    const Compiled compiled = try_compile(option,
                                          std::string("#version 450\n") + kResult + workaround +
                                              "void main() { result[0] = VALUE; }\n",
                                          "moltenvk.comp");
    INFO(compiled.said);
    CHECK(run(v, compiled.words, space(Codec::kF32, 1), space(Codec::kF32, 1), Codec::kF32, 1) ==
          std::vector<std::uint32_t>{moltenvk ? 5u : 6u});
  }
}
