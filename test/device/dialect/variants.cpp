// SPDX-License-Identifier: Apache-2.0
#include "variants.hpp"

#include <bit>
#include <catch2/catch_test_macros.hpp>

#include "vulkan_run.hpp"

namespace spirkiln::test {
namespace {

Variant make_variant(const char* profile, std::string name, bool half_arithmetic, bool packed,
                     Codec scalar, Codec vector) {
  Variant v;
  v.profile = profile;
  v.name = std::move(name);
  v.half_arithmetic = half_arithmetic;
  v.packed = packed;
  v.scalar = v.image1 = scalar;
  v.vector = v.image4 = vector;
  return v;
}

std::vector<Variant> make_variants() {
  constexpr Codec f32 = Codec::kF32, f16 = Codec::kF16, bf16 = Codec::kBf16;
  std::vector<Variant> all;
  for (const bool image : {false, true}) {
    const std::string prefix = image ? "image_" : "";
    const auto add = [&](const std::string& name, bool a, bool p, Codec scalar, Codec vector) {
      all.push_back(make_variant("ncnn-2023", name, a, p, scalar, vector));
    };
    add(image ? "image" : "fp32", false, false, f32, f32);
    add(prefix + "fp16p", false, true, f32, f16);
    add(prefix + "fp16pa", true, true, f32, f16);
    add(prefix + "fp16s", false, false, f16, f16);
    add(prefix + "fp16sa", true, false, f16, f16);
  }
  const auto add = [&](const char* name, bool a, bool p, Codec codec) {
    all.push_back(make_variant("ncnn-2026", name, a, p, codec, codec));
  };
  add("fp32", false, false, f32);
  add("fp16p", false, true, f16);
  add("fp16pa", true, true, f16);
  add("fp16s", false, false, f16);
  add("fp16sa", true, false, f16);
  add("fp16sau", true, false, f16);
  add("bf16p", false, true, bf16);
  add("bf16p", false, true, bf16);
  all.back().form = "with 16-bit storage";
  all.back().defines = {{"ncnn_storageBuffer16BitAccess", "1"}};
  return all;
}

constexpr std::string_view kHead = "#version 450\nlayout(local_size_x = 64) in;\n";
constexpr std::string_view kHeadHalf =
    "#version 450\n#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"
    "layout(local_size_x = 64) in;\n";
constexpr std::string_view kBuffers =
    "layout(binding = 0) readonly buffer A { uint a[]; };\n"
    "layout(binding = 1) writeonly buffer B { uint b[]; };\n"
    "void main() {\n  uint i = gl_GlobalInvocationID.x;\n";
constexpr std::size_t kProbes = 65536;

// The lanes of binding 1 behind the run; empty where the device lacks what the text needs.
std::vector<std::uint32_t> probe(std::string_view head, std::string_view body, Binding from,
                                 Binding to, Codec codec) {
  const Variant plain = variants().front();
  Job job;
  job.name = "a plain conversion";
  job.words = compile_for(plain, std::string(head) + std::string(body), "probe.comp");
  if (lacks(device()->state()->caps, job.words)) return {};
  job.bindings = {std::move(from), std::move(to)};
  job.groups = {kProbes / 64, 1, 1};
  const Status status = run_jobs(*device(), {&job, 1});
  if (!status) FAIL(status.error().message);
  return unpack_lanes(codec, job.bindings[1].bytes);
}

std::vector<std::byte> empty(Codec codec) {
  return std::vector<std::byte>(kProbes * bytes_of(codec));
}

Rounding find_rounding(const char* what, const std::vector<std::uint32_t>& got) {
  const auto values = values_of(Codec::kF32, kProbes);
  for (const bool to_zero : {false, true}) {
    for (const bool flush : {false, true}) {
      const Rounding rounding{to_zero, flush};
      bool all = true;
      for (std::size_t i = 0; i < got.size() && all; ++i) {
        const std::uint16_t want = narrow_half(std::bit_cast<float>(values[i]), rounding);
        all = same_number(Codec::kF16, got[i] & 0xffff, want);
      }
      if (all) return rounding;
    }
  }
  std::size_t at = 0;
  while (
      same_number(Codec::kF16, got[at] & 0xffff, narrow_half(std::bit_cast<float>(values[at])))) {
    ++at;
  }
  INFO("first of those that do not round to nearest: " << std::hex << values[at] << " became "
                                                       << got[at]);
  FAIL(what << " rounds neither to nearest even nor towards zero");
  return {};
}

bool find_flush(const char* what, const std::vector<std::uint32_t>& got) {
  for (const bool flush : {false, true}) {
    bool all = true;
    for (std::size_t i = 0; i < got.size() && all; ++i) {
      const float want = widen_half(static_cast<std::uint16_t>(i), flush);
      all = same_number(Codec::kF32, got[i], std::bit_cast<std::uint32_t>(want));
    }
    if (all) return flush;
  }
  FAIL(what << " is not exact");
  return false;
}

// Whether float16_t(v) may stay v where it becomes a float again at once.
bool find_excess(const std::vector<std::uint32_t>& got, Rounding rounding) {
  const auto values = values_of(Codec::kF32, kProbes);
  bool excess = false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float rounded = widen_half(narrow_half(std::bit_cast<float>(values[i]), rounding));
    if (same_number(Codec::kF32, got[i], std::bit_cast<std::uint32_t>(rounded))) continue;
    excess = true;
    INFO(std::hex << values[i] << " became " << got[i]);
    if (!same_number(Codec::kF32, got[i], values[i])) FAIL("neither rounded nor left as it was");
  }
  return excess;
}

Conversions measure() {
  Conversions c;
  const Binding floats{pack_lanes(Codec::kF32, values_of(Codec::kF32, kProbes)), {}};
  // Values of 16 bits are all there are, in order.
  const auto halves = values_of(Codec::kF16, kProbes);
  const Binding words{pack_lanes(Codec::kI32, halves), {}};
  const Binding out{empty(Codec::kF32), {}};
  const auto in_buffers = [&](std::string_view head, std::string_view line, const Binding& from) {
    return probe(head, std::string(kBuffers) + std::string(line) + "\n}\n", from, out, Codec::kF32);
  };
  c.pack = find_rounding(
      "packHalf2x16",
      in_buffers(kHead, "b[i] = packHalf2x16(vec2(uintBitsToFloat(a[i]), 0.0));", floats));
  c.convert = find_rounding(
      "a conversion to float16_t",
      in_buffers(kHeadHalf,
                 "b[i] = packFloat2x16(f16vec2(float16_t(uintBitsToFloat(a[i])), float16_t(0)));",
                 floats));
  c.unpack_flushes =
      find_flush("unpackHalf2x16",
                 in_buffers(kHead, "b[i] = floatBitsToUint(unpackHalf2x16(a[i]).x);", words));
  c.convert_flushes = find_flush(
      "a conversion of float16_t",
      in_buffers(kHeadHalf, "b[i] = floatBitsToUint(float(unpackFloat2x16(a[i]).x));", words));
  c.excess = find_excess(
      in_buffers(kHeadHalf, "b[i] = floatBitsToUint(float(float16_t(uintBitsToFloat(a[i]))));",
                 floats),
      c.convert);

  ImageShape shape{.dims = 2, .lanes = 1, .half = true, .w = 256, .h = 256};
  c.image = find_rounding(
      "imageStore into r16f",
      probe(kHead,
            "layout(binding = 0) readonly buffer A { uint a[]; };\n"
            "layout(binding = 1, r16f) writeonly uniform image2D b;\n"
            "void main() {\n  int i = int(gl_GlobalInvocationID.x);\n"
            "  imageStore(b, ivec2(i % 256, i / 256), vec4(uintBitsToFloat(a[i])));\n}\n",
            floats, {empty(Codec::kF16), shape}, Codec::kF16));
  shape.sampled = true;
  c.fetch_flushes = find_flush(
      "texelFetch of r16f",
      probe(kHead,
            "layout(binding = 0) uniform sampler2D a;\n"
            "layout(binding = 1) writeonly buffer B { uint b[]; };\n"
            "void main() {\n  int i = int(gl_GlobalInvocationID.x);\n"
            "  b[i] = floatBitsToUint(texelFetch(a, ivec2(i % 256, i / 256), 0).r);\n}\n",
            {pack_lanes(Codec::kF16, halves), shape}, out, Codec::kF32));
  return c;
}

}  // namespace

std::string Variant::title() const {
  return profile + " " + name + (form.empty() ? "" : " " + form);
}

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = make_variants();
  return all;
}

const std::vector<Variant>& integer_variants() {
  struct Form {
    const char *int8, *int16;
    bool shader_int16;
  };
  static const std::vector<Variant> all = [] {
    std::vector<Variant> list;
    for (const Variant& base : variants()) {
      if (!base.is_2026() || (base.name != "fp32" && base.name != "fp16p")) continue;
      for (const Form& f :
           {Form{"storage", "storage", true}, Form{"packed", "storage", false},
            Form{"", "packed", true}, Form{"", "packed", false}, Form{"", "", false}}) {
        // What is shared with floats is the exchange of words.
        if (base.packed && (*f.int8 != '\0' || !f.shader_int16)) continue;
        Variant v = base;
        v.int8_form = f.int8;
        v.int16_form = f.int16;
        v.int16 = *f.int16 == '\0' ? Codec::kI32 : Codec::kI16;
        if (f.shader_int16) v.defines.emplace_back("ncnn_shaderInt16", "1");
        v.form = std::string("int8 ") + (*f.int8 == '\0' ? "neither" : f.int8) + ", int16 " +
                 (*f.int16 == '\0' ? "neither" : f.int16) +
                 (f.shader_int16 ? " with shaderInt16" : "");
        list.push_back(v);
      }
    }
    return list;
  }();
  return all;
}

Option option_of(const Variant& v) {
  const auto has = [&](const char* text) { return v.name.find(text) != std::string::npos; };
  Option option;
  option.profile = v.profile;
  option.use_bf16_packed = has("bf16p");
  option.use_fp16_packed = has("fp16p");
  option.use_fp16_storage = has("fp16s");
  option.use_fp16_arithmetic = v.half_arithmetic;
  option.use_fp16_uniform = v.name.ends_with("au");
  option.use_image_storage = v.on_images();
  option.use_int8_storage = option.use_int8_arithmetic = v.int8_form == "storage";
  option.use_int8_packed = v.int8_form == "packed";
  option.use_int16_storage = v.int16_form == "storage";
  option.use_int16_packed = v.int16_form == "packed";
  option.defines = v.defines;
  return option;
}

Compiled try_compile(const Option& option, const std::string& text, const std::string& name) {
  Option named = option;
  Compiled out;
  named.name = name;
  named.message = [&](Severity, std::string_view line) { out.said += std::string(line) + "\n"; };
  if (compile_spirv_module(text.c_str(), named, out.words) != 0) out.words.clear();
  return out;
}

std::vector<std::uint32_t> compile_for(const Variant& variant, const std::string& text,
                                       const std::string& name) {
  Compiled out = try_compile(option_of(variant), text, name);
  if (out.words.empty()) FAIL(variant.title() << ":\n" << out.said << text);
  return std::move(out.words);
}

const Conversions& conversions() {
  static const Conversions measured = measure();
  return measured;
}

}  // namespace spirkiln::test
