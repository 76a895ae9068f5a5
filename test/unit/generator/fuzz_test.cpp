// SPDX-License-Identifier: Apache-2.0
// Texts that nobody would write: each ends in a module or in an error with a place, and line ends
// make no difference. The seed is fixed; a failure prints the text.
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <string>
#include <vector>

#include "compile_fixture.hpp"
#include "forms.hpp"
#include "tokens.hpp"

using namespace spirkiln;

namespace {

constexpr std::string_view kKernel2023 = R"(#version 450
#if NCNN_fp16_storage
#extension GL_EXT_shader_16bit_storage: require
struct sfpvec8 { f16vec4 abcd; f16vec4 efgh; };
#endif
#include "vulkan_activation.comp"
layout (constant_id = 0) const int w = 0;
layout (constant_id = 1) const float alpha = 0;
layout (binding = 0) readonly buffer a_blob { sfpvec4 a[]; };
layout (binding = 1) buffer b_blob { sfp b[]; };
layout (binding = 2) writeonly buffer c_blob { sfpvec8 c[]; };
layout (push_constant) uniform parameter { int w; } p;
shared lfpvec4 tmp[4];
#define PUT(i, x) { buffer_st1(b, i, x) buffer_st1(b, i + 1, x); }
afp scale(afp x, int k) { return k > 1 ? x * k : 0; }
void main()
{
    int gx = int(gl_GlobalInvocationID.x);
    if (gx >= psc(w)) return;
    afpvec4 v = buffer_ld4(a, gx) * alpha + 1;
    tmp[gx & 3] = sfp2lfpvec4(a[gx + 1]);
    barrier();
    v += lfp2afpvec4(tmp[0]); v.x = max(v.x, 0);
    v = activation_afpvec4(v, 3, 0.0, 1.0);
    for (int i = 0; i < 4; i++) { v[i] = scale(v[i], i) / 3; }
    buffer_st8(c, gx, afpvec8(v, v * 2.0));
    if (gx > 2) PUT(gx, v.x) else buffer_cp4to1(b, ivec4(gx), a, gx);
}
)";

constexpr std::string_view kKernel2026 = R"(#version 450
#extension GL_GOOGLE_include_directive : enable
#include "vulkan_activation.comp"
#if ncnn_subgroupSize >= 16 && ncnn_shaderInt16
#define LANES 16
#else
#define LANES 8
#endif
layout(constant_id = 0) const float f = 0.f;
layout(binding = 0) readonly buffer A { sfpvec4 a[]; };
layout(binding = 1) buffer B { sfp b[]; };
layout(binding = 2) writeonly buffer C { sint8vec4 c[]; };
layout(push_constant) uniform parameter { float f; } p;
shared lfp tmp[LANES];
void main()
{
    const uint gi = gl_GlobalInvocationID.x;
    tmp[gi % LANES] = buffer_sm1(b, gi);
    barrier();
    afpvec4 v = buffer_ld4(a, gi) * psc(f) + lfp2afp(tmp[0]);
    ivec4 q = float2int8vec4(v);
    i8buffer_st4(c, gi, q)
    if (gi > 2u) buffer_st1(b, gi, v.x * 3) else buffer_cp1(b, gi, b, gi + 1u)
}
)";

const std::vector<std::string> kWords = {"sfp",
                                         "afpvec4",
                                         "lfp",
                                         "buffer_ld4",
                                         "buffer_st1",
                                         "buffer_cp4to1",
                                         "psc",
                                         "image3d_ld4",
                                         "(",
                                         ")",
                                         "[",
                                         "]",
                                         "{",
                                         "}",
                                         ";",
                                         ",",
                                         "=",
                                         "+=",
                                         "?",
                                         ":",
                                         "*",
                                         "-",
                                         "<<=",
                                         "0",
                                         "1.0",
                                         "2u",
                                         "65536",
                                         "v",
                                         "gx",
                                         "float16_t",
                                         "f16vec4",
                                         "const",
                                         "return",
                                         "out",
                                         "struct",
                                         "void",
                                         "\n",
                                         "#if ",
                                         "#endif\n",
                                         "#define ",
                                         "##",
                                         "\\\n",
                                         "/*",
                                         "*/",
                                         "//",
                                         "\"",
                                         "'",
                                         ".",
                                         "@",
                                         "\x80",
                                         "#include \"k.comp\"\n",
                                         "#line 7\n",
                                         "#extension all : warn\n",
                                         "double",
                                         "spk_half",
                                         "spk_afp"};

// A few tokens taken away, doubled, exchanged or put in.
std::string mutate(std::string_view kernel, std::mt19937& random) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (const gen::Token& t : gen::tokenize(kernel)) {
    parts.emplace_back(kernel.substr(from, t.offset - from));
    parts.emplace_back(t.text);
    from = t.offset + t.text.size();
  }
  parts.emplace_back(kernel.substr(from));
  const auto any = [&] { return random() % parts.size(); };
  for (unsigned n = 1 + random() % 3; n > 0; --n) {
    switch (random() % 4) {
      case 0:
        parts[any()].clear();
        break;
      case 1:
        parts[any()] += " " + kWords[random() % kWords.size()] + " ";
        break;
      case 2:
        std::swap(parts[any()], parts[any()]);
        break;
      default:
        parts.insert(parts.begin() + static_cast<long>(any()), parts[any()]);
    }
  }
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

std::string with_line_ends(std::string_view text, std::string_view end) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += end;
    } else {
      out += c;
    }
  }
  return out;
}

void check_outcome(const test::Compiled& compiled) {
  CHECK(compiled.ok == !compiled.words.empty());
  if (!compiled.ok) CHECK(compiled.said.find("error: ") != std::string::npos);
}

}  // namespace

TEST_CASE("fuzz: the kernels that are varied compile themselves", "[fuzz]") {
  for (const auto form : gen::form_names(gen::kProfile2023)) {
    const auto compiled = test::compile_text(kKernel2023, gen::kProfile2023, form);
    INFO(form << "\n" << compiled.said);
    CHECK(compiled.ok);
    const std::string crlf = with_line_ends(kKernel2023, "\r\n");
    CHECK(test::compile_text(crlf, gen::kProfile2023, form).words == compiled.words);
  }
  for (const auto form : gen::form_names(gen::kProfile2026)) {
    if (form == "bf16s") continue;
    const auto compiled = test::compile_text(kKernel2026, gen::kProfile2026, form);
    INFO(form << "\n" << compiled.said);
    CHECK(compiled.ok);
  }
}

TEST_CASE("fuzz: varied kernels", "[fuzz]") {
  std::mt19937 random(20230702);
  std::size_t compiled = 0;
  for (int round = 0; round < 150; ++round) {
    const bool old = round % 2 == 0;
    const auto profile = old ? gen::kProfile2023 : gen::kProfile2026;
    const auto forms = gen::form_names(profile);
    const auto form = forms[random() % forms.size()];
    const std::string text = mutate(old ? kKernel2023 : kKernel2026, random);
    INFO(profile << " " << form << "\n" << text);
    const auto a = test::compile_text(text, profile, form);
    check_outcome(a);
    if (form != "bf16s") compiled += a.ok;
    const auto b = test::compile_text(with_line_ends(text, "\r\n"), profile, form);
    CHECK(a.words == b.words);
    CHECK(a.said == b.said);
  }
  // A run in which nothing or everything compiles would say little.
  CHECK(compiled > 0);
  CHECK(compiled < 150);
}

TEST_CASE("fuzz: deep and long texts", "[fuzz]") {
  const std::string head = "#version 450\nlayout(binding = 0) buffer B { sfp b[]; };\n";
  const auto times = [](std::size_t n, std::string_view text) {
    std::string out;
    for (; n > 0; --n) out += text;
    return out;
  };
  const auto in_main = [&](const std::string& body) {
    return head + "void main() { int i = 0; afp s = buffer_ld1(b, 0); " + body +
           " buffer_st1(b, i, s); }\n";
  };
  const std::vector<std::string> texts = {
      in_main("s = s" + times(20000, "+s") + ";"),
      in_main("s = s" + times(60, " + 1") + ";"),
      in_main("s = " + times(30000, "(") + "s" + times(30000, ")") + ";"),
      in_main("s = " + times(15000, "-(") + "s" + times(15000, ")") + ";"),
      in_main(times(20000, "i++,") + "i++;"),
      in_main(times(5000, "if (i == 0) i = 1; else ") + ";"),
      in_main("i = " + times(12000, "i > 0 ? 1 : ") + "2;"),
      in_main("s = " + times(12, "buffer_ld1(b, int(") + "1" + times(12, "))") + ";"),
      in_main(times(30000, "{") + times(30000, "}")),
      head + "#define F(x) x\nvoid main() { int i = " + times(2000, "F(") + "1" + times(2000, ")") +
          "; }\n",
      "#version 450\n#if " + times(100000, "(") + "1" + times(100000, ")") +
          "\n#endif\nvoid main() {}\n",
      "#version 450\n#if " + times(100000, "!") + "1\n#endif\nvoid main() {}\n",
      "#version 450\nfloat a" + times(2000, "[2]") + ";\nvoid main() {}\n",
      "#version 450\n" + times(10000, "#if 1\n"),
      "#version 450\n#define A(x) A(x) x\nvoid main() { A(A(A(A(1)))); }\n",
  };
  for (std::size_t i = 0; i < texts.size(); ++i) {
    INFO(i << ": " << texts[i].substr(0, 200));
    check_outcome(test::compile_text(texts[i], gen::kProfile2023, i % 2 ? "fp16sa" : "fp16s"));
  }
}
