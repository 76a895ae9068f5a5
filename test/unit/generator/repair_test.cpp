// SPDX-License-Identifier: Apache-2.0
// Numbers in 16-bit arithmetic: what compiles in fp32 compiles in every variant, and nothing else.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <spirv/unified1/spirv.hpp>

#include "compile_fixture.hpp"
#include "forms.hpp"
#include "spirv_module.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::string_view kHead = R"(#version 450
layout(constant_id = 0) const float alpha = 0.5;
layout(push_constant) uniform parameter { int n; float f; } p;
layout(binding = 0) readonly buffer A1 { sfp a1[]; };
layout(binding = 1) readonly buffer A4 { sfpvec4 a4[]; };
layout(binding = 2) buffer B1 { sfp b1[]; };
layout(binding = 3) buffer B4 { sfpvec4 b4[]; };
struct S { afp a; int b; };
afp f(afp x) { return x; }
afp g(float x) { return x; }
afp h(int x) { if (x > 1) return 2; else return x + alpha; }
afpvec4 h4(afpvec4 x, afp y, int z) { return x * y * z; }
void main() {
  int i = int(gl_GlobalInvocationID.x);
  ivec4 q = ivec4(i);
  afp s = buffer_ld1(a1, i);
  afpvec4 v = buffer_ld4(a4, i);
)";
constexpr std::string_view kTail = "\n  buffer_st1(b1, i, s);\n  buffer_st4(b4, i, v);\n}\n";

test::Compiled compile_body(std::string_view body, std::string_view profile,
                            std::string_view form) {
  return test::compile_text(std::string(kHead) + std::string(body) + std::string(kTail), profile,
                            form);
}

// Instructions `op` by the width of the float, or of its lanes, that they give.
std::size_t count_of_width(const std::vector<std::uint32_t>& words, std::uint32_t op,
                           std::uint32_t width) {
  const auto module = gen::SpirvModule::parse(words);
  REQUIRE(module.ok());
  std::size_t count = 0;
  for (const auto& inst : module->instructions()) {
    if (inst.op != op) continue;
    const auto* type = module->definition(inst.operands[0]);
    while (type != nullptr && type->op == spv::OpTypeVector) {
      type = module->definition(type->operands[1]);
    }
    count += type != nullptr && type->op == spv::OpTypeFloat && type->operands[1] == width;
  }
  return count;
}

}  // namespace

TEST_CASE("repair: what compiles in fp32 compiles in every variant", "[repair]") {
  const auto profile = GENERATE(gen::kProfile2023, gen::kProfile2026);
  const std::vector<std::string_view> bodies = {
      // Operators, with more than one in a line.
      "v = v + 123; v += 3; v *= 2; v = 2 * v - 1; v = v * i; v = v + -4; v = v * q; v = q;",
      "s = f(i + 1) + 1; s = (s + 1) * (s - 1) / (i + 2); s = s * (i % 3) + (i << 1); s = -i;",
      "if (s > 0 && i * s < 3 - i) s = -s + (i - 1) * 2; s = s - -2; s *= -1; s = -1 - s;",
      "for (afp t = 0; t < 4; t++) s += t; while (s < 10) s += 1; if (v.x == 1) v = v / 2;",
      "v[1] = v[0] * 2 + v[2] * -3; v[i & 3] += i; v.x = 1; v.xy *= 2.0; s = (s, 3);",
      // Choices.
      "s = i > 2 ? s : 0; s = i > 2 ? 1 : s; s = (i > 2) ? i : s * 2; s += s > 1 ? 1 : 2;",
      "s = i > 2 ? i > 3 ? 1 : s : i > 4 ? s : 2; s = i == 0 ? 1.0 : s;",
      // Floats of 32 bits.
      "v = v * alpha; s *= alpha; v /= 3; v -= i; s = p.f; v = vec4(1.0); v.xyz = vec3(0);",
      "v = max(v, afp(0.0f)) + min(alpha * (exp(v / alpha) - 1.0f), afp(0.0f));",
      "v *= mat4(2.0); v = v * mat4(1.0); v += vec4(1.0); s = 1.0f / (1.0f + exp(-s));",
      "afpmat4 m = afpmat4(v, v, v, v); m *= 2; m = m * 2.0; v = m[0] * 1.0;",
      // Functions: GLSL's, the kernel's, the dialect's.
      "s = max(s, 0); v = clamp(v, 0, 1); s = pow(s, 2); v = max(v, 0.f); v = mix(v, v, 0.5);",
      "s = atan(s, 2.0); v = step(0.5, v); v = smoothstep(0, 1, v); s = dot(v, vec4(1));",
      "s = sqrt(i); s = mod(s, 3); s = abs(s) - floor(s) + fract(s * i); s = length(v) * 2.0;",
      "v = afpvec4(max(v, 0)); float t = max(s, 1); t = s * i; buffer_st4(b4, 0, v * 0.5);",
      "s = f(1); s = f(alpha); s = f(s * 2.0); s = g(s); s = h(i); v = h4(v * 0.5, 2, 3);",
      "s = f((2, 3)); s = f(f(f(1)) + 1.0); lfp l = afp2lfp(s * 2.0); s = lfp2afp(l) + 1;",
      "buffer_st1(b1, 0, s * 2); buffer_st1(b1, 1, 1.0); buffer_st4(b4, 1, v * i + 2);",
      // Declarations.
      "const afp c = 1.0, d = 2; const afpvec4 e = v * 2.0; s = c + d; afp o = 3, r = 0.5;",
      "afp a[2] = afp[2](0, 1); afp c[3] = { i, 2, alpha }; afp w[2] = { g(s), 2 }; s = c[1];",
      "S z = S(1, 2); S y = { 1, 2 }; afp m[2][2] = { { i, 2 }, { 3.0, 4 } }; s = z.a + y.a;",
      "switch (i) { case 0: s = 1; break; case 1: s = 2; default: s = 0; } do { s *= 3; } while (s "
      "< "
      "9);",
  };
  for (const std::string_view body : bodies) {
    for (const auto form : gen::form_names(profile)) {
      if (form == "bf16s") continue;
      INFO(form << ": " << body);
      const auto compiled = compile_body(body, profile, form);
      INFO(compiled.said);
      REQUIRE(compiled.ok);
      CHECK_FALSE(test::has_capability(compiled.words, spv::CapabilityFloat64));
    }
  }
}

TEST_CASE("repair: what is wrong in fp32 is wrong in every variant", "[repair]") {
  for (const std::string_view body : {"v = 1.0;",
                                      "v = s;",
                                      "s = v;",
                                      "s += v;",
                                      "bool b = s;",
                                      "int j = s;",
                                      "s = f(v);",
                                      "s = true;",
                                      "s = s + true;",
                                      "v *= mat2x4(1.0);",
                                      "v += uvec2(1);",
                                      "v = v + a4;",
                                      "const afpvec4 c = 1.0;",
                                      "s = i > 2 ? s : v;",
                                      "s = s << 1;",
                                      "f(1) = 2;",
                                      "s = g(v);",
                                      "afp a[2] = { v, 1 };",
                                      "v = v.xy * 2;",
                                      "s = max(s, v);",
                                      "i = s * 2;",
                                      "s = bogus + 1;",
                                      "s = s + 1 s = 2;"}) {
    for (const auto form : gen::form_names(gen::kProfile2023)) {
      INFO(form << ": " << body);
      const auto compiled = compile_body(body, gen::kProfile2023, form);
      CHECK_FALSE(compiled.ok);
      // At its own place, whatever was tried.
      CHECK_THAT(compiled.said, ContainsSubstring("k.comp:18:"));
    }
  }
}

TEST_CASE("repair: numbers that 16 bits may not hold are computed with in 32", "[repair]") {
  for (const auto form : {"fp16pa", "fp16sa"}) {
    const auto divisions = [&](std::string_view body, std::uint32_t width) {
      const auto compiled = compile_body(body, gen::kProfile2023, form);
      INFO(form << ": " << body << "\n" << compiled.said);
      REQUIRE(compiled.ok);
      return count_of_width(compiled.words, spv::OpFDiv, width);
    };
    // 100000 is no 16-bit float, and i may be as large.
    CHECK(divisions("s = s / 100000;", 32) == 1);
    CHECK(divisions("s /= 100000;", 32) == 1);
    CHECK(divisions("v = v / 2049;", 32) == 1);
    CHECK(divisions("v /= i;", 32) == 1);
    CHECK(divisions("v /= p.f;", 32) == 1);
    CHECK(divisions("v = v / 2048;", 16) == 1);
    CHECK(divisions("v = v / 2048;", 32) == 0);
    CHECK(divisions("v = v / s;", 16) == 1);
  }
}

TEST_CASE("repair: a text that is right is left as it is", "[repair]") {
  // Doubles that the kernel itself asks for stay.
  const auto compiled =
      compile_body("double d = double(s) * 2.0lf; s = afp(d);", gen::kProfile2023, "fp16sa");
  INFO(compiled.said);
  REQUIRE(compiled.ok);
  CHECK(test::has_capability(compiled.words, spv::CapabilityFloat64));
}

TEST_CASE("repair: switches for whole numbers that a kernel does not use leave mixed calls alone",
          "[repair]") {
  const auto define = GENERATE(std::string("NCNN_int8_arithmetic"), "NCNN_int16_packed");
  const auto form = GENERATE(std::string("fp32"), "fp16pa", "fp16sa");
  const std::string text =
      "#version 450\nlayout(local_size_x = 8) in;\n"
      "layout(binding = 0) buffer B { sfpvec4 b[]; };\n"
      "void main() { buffer_st4(b, 0, max(buffer_ld4(b, 1), 0) * 3); }\n";
  const test::Defines on = {{define, "1"}, {"ncnn_shaderInt16", "1"}};
  INFO(form << " " << define);
  const auto without = test::compile_text(text, "ncnn-2026", form);
  const auto with = test::compile_text(text, "ncnn-2026", form, on);
  INFO(with.said);
  REQUIRE(without.ok);
  REQUIRE(with.ok);
  // The dialect may leave a variable out; what the kernel computes is the same.
  for (const std::uint32_t width : {16u, 32u, 64u}) {
    INFO(width);
    CHECK(count_of_width(with.words, spv::OpExtInst, width) ==
          count_of_width(without.words, spv::OpExtInst, width));
  }
  for (const auto capability :
       {spv::CapabilityFloat64, spv::CapabilityInt8, spv::CapabilityInt16}) {
    CHECK_FALSE(test::has_capability(with.words, capability));
  }

  // Where it does use them they are there.
  const std::string type = define == "NCNN_int8_arithmetic" ? "int8_t" : "int16_t";
  const auto used = test::compile_text(
      "#version 450\nlayout(local_size_x = 8) in;\n"
      "layout(binding = 0) buffer B { sfp b[]; };\n"
      "void main() { " +
          type + " i = " + type +
          "(gl_WorkGroupID.x);\n"
          "  afp s = buffer_ld1(b, int(i + i)) * 3; buffer_st1(b, 0, s); }\n",
      "ncnn-2026", form, on);
  INFO(used.said);
  REQUIRE(used.ok);
  CHECK(test::has_capability(used.words,
                             type == "int8_t" ? spv::CapabilityInt8 : spv::CapabilityInt16));
}

TEST_CASE("repair: arguments with effects are evaluated once", "[repair]") {
  const std::string text = R"(#version 450
layout(binding = 0) buffer A { sfpvec4 a[]; };
layout(binding = 1) buffer C { uint c; };
int next() { return int(atomicAdd(c, 1u)); }
void main() {
  afpvec4 v[4];
  v[0] = v[1] = v[2] = v[3] = buffer_ld4(a, 0);
  v[next()] *= 0.5;
  v[next() & 3] += next();
  buffer_st4(a, 1, v[0] + v[1] + v[2] + v[3]);
}
)";
  for (const auto form : gen::form_names(gen::kProfile2023)) {
    const auto compiled = test::compile_text(text, gen::kProfile2023, form);
    INFO(form << "\n" << compiled.said);
    REQUIRE(compiled.ok);
    // One in next() itself, and three calls of it.
    CHECK(test::count_ops(compiled.words, spv::OpAtomicIAdd) == 1);
    std::size_t calls = 0;
    const auto module = gen::SpirvModule::parse(compiled.words);
    for (const auto& inst : module->instructions()) {
      const std::string* name =
          inst.op == spv::OpFunctionCall ? module->name(inst.operands[2]) : nullptr;
      calls += name != nullptr && name->starts_with("next(");
    }
    CHECK(calls == 3);
  }
}

TEST_CASE("repair: a store or copy without its semicolon", "[repair]") {
  const auto form = GENERATE(Catch::Generators::from_range(
      std::vector<std::string_view>{"fp32", "fp16p", "fp16pa", "fp16s", "fp16sa"}));
  const auto profile = GENERATE(gen::kProfile2023, gen::kProfile2026);
  for (const std::string_view body : {
           "buffer_st1(b1, i, s) buffer_st4(b4, i, v)",
           "if (i > 3) buffer_st1(b1, i, s) else buffer_cp4(b4, i, a4, i) i++;",
           "if (i > 3) { buffer_st1(b1, i, s) } { buffer_cp1(b1, i, a1, i) } (i)++;",
           "do buffer_cp4to1(b1, q, a4, (i)) while (i < 0); buffer_cp1to4(b4, i, a1, q) // end",
           "\n#define PUT(x) { buffer_st1(b1, x, s) buffer_st1(b1, x + 1, s) }\nPUT(i)",
           "\n#define PUT(x) buffer_st1(b1, x, s)\nif (i > 2) PUT(3); else PUT(4);",
           "buffer_st1(b1, i, s)\n#if 1\nbuffer_st4(b4, i, v)\n#endif\n",
       }) {
    INFO(profile << " " << form << ": " << body);
    const auto compiled = compile_body(body, profile, form);
    INFO(compiled.said);
    CHECK(compiled.ok);
  }
  // Lines and columns stay.
  CHECK_THAT(compile_body("buffer_st1(b1, i, s) bogus;", profile, form).said,
             ContainsSubstring("k.comp:18:22: error: 'bogus'"));
  // Any other call needs its own.
  CHECK_FALSE(compile_body("f(s) i++;", profile, form).ok);
}

TEST_CASE("repair: 16-bit constants where 16 bits are for storage only", "[repair]") {
  // Success includes SPIRV-Tools' word that the module is valid.
  for (const auto profile : {gen::kProfile2023, gen::kProfile2026}) {
    const auto compiled = compile_body(
        "b1[0] = sfp(1); b1[1] = sfp(alpha); b4[0].y = sfp(2.0); b4[1] = sfpvec4(vec4(alpha)); "
        "b1[2] = 3.0; b1[3] = alpha * 2;",
        profile, "fp16s");
    INFO(profile << "\n" << compiled.said);
    REQUIRE(compiled.ok);
    CHECK_FALSE(test::has_capability(compiled.words, spv::CapabilityFloat16));
  }
}
