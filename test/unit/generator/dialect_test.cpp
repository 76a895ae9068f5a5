// SPDX-License-Identifier: Apache-2.0
// Every function of the dialect in every variant, and the traps of the original that ours must not
// have.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <spirv/unified1/spirv.hpp>

#include "compose.hpp"
#include "kernel_compiler.hpp"
#include "spirv_module.hpp"
#include "workspace.hpp"

using namespace spirkiln;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> kForms = {"fp32", "fp16p", "fp16pa", "fp16s", "fp16sa"};

constexpr std::string_view kHead = R"(#version 450
layout(local_size_x = 1) in;
layout(constant_id = 0) const int n = 0;
layout(constant_id = 1) const float f = 0;
layout(push_constant) uniform parameter { int n; float f; } p;
layout(binding = 0) readonly buffer A1 { sfp a1[]; };
layout(binding = 1) readonly buffer A2 { sfpvec2 a2[]; };
layout(binding = 2) readonly buffer A4 { sfpvec4 a4[]; };
layout(binding = 3) readonly buffer A8 { sfpvec8 a8[]; };
layout(binding = 4) writeonly buffer B1 { sfp b1[]; };
layout(binding = 5) writeonly buffer B2 { sfpvec2 b2[]; };
layout(binding = 6) writeonly buffer B4 { sfpvec4 b4[]; };
layout(binding = 7) writeonly buffer B8 { sfpvec8 b8[]; };
layout(binding = 8) buffer Counter { uint counter; };
shared lfp l1[4];
shared lfpvec4 l4[4];
int once(int i) { atomicAdd(counter, 1u); return i; }
void main() {
  int i = int(gl_GlobalInvocationID.x);
  uint u = gl_GlobalInvocationID.x;
  ivec4 q = ivec4(i, i + 1, i + 2, i + 3);
)";

gen::CompileOutcome compile(const std::string& text, const std::string& form,
                            gen::Optimise optimise = gen::Optimise::kPerformance) {
  gen::KernelManifest manifest;
  manifest.name = "probe";
  manifest.variants = {form};
  const auto expansion = gen::expand(manifest);
  const gen::SourceFile file{"probe.comp", text, 0};
  const auto composed = gen::compose(file, expansion->variants[0]);
  gen::SourceStore store;
  const fs::path glsl = fs::path(SPIRKILN_SOURCE_ROOT) / "glsl";
  const std::string name = "probe.comp";
  auto front = gen::preprocess({composed.text, name, glsl / "dialect" / "dialect.glsl", {}}, store);
  gen::CompileOutcome outcome;
  outcome.diagnostics = front.diagnostics;
  if (!front.ok) return outcome;
  return gen::compile_kernel({front.text, name, optimise, gen::VulkanTarget::kAuto}, "key",
                             gen::Cache(std::nullopt), store);
}

gen::CompileOutcome compile_body(const std::string& body, const std::string& form) {
  return compile(std::string(kHead) + body + "\n}\n", form);
}

void require_compiles(const gen::CompileOutcome& outcome) {
  std::string said;
  for (const auto& d : outcome.diagnostics) said += gen::to_string(d) + "\n";
  INFO(said);
  REQUIRE(outcome.blob != nullptr);
}

std::size_t count_ops(const gen::Blob& blob, std::uint32_t op) {
  const auto module = gen::SpirvModule::parse(blob.words);
  std::size_t count = 0;
  for (const auto& inst : module->instructions()) count += inst.op == op;
  return count;
}

// Conversions of floats: by instruction, and packing or unpacking of halves.
std::size_t count_conversions(const gen::Blob& blob) {
  const auto module = gen::SpirvModule::parse(blob.words);
  std::size_t count = 0;
  for (const auto& inst : module->instructions()) {
    count += inst.op == spv::OpFConvert || inst.op == spv::OpBitcast;
    // PackHalf2x16 is 58, UnpackHalf2x16 is 62 in GLSL.std.450.
    count += inst.op == spv::OpExtInst && (inst.operands[3] == 58 || inst.operands[3] == 62);
  }
  return count;
}

}  // namespace

TEST_CASE("dialect: every function compiles in every variant", "[dialect]") {
  const std::string form = GENERATE(Catch::Generators::from_range(kForms));
  const std::vector<std::string> bodies = {
      "afp v = buffer_ld1(a1, i); buffer_st1(b1, i, v);",
      "afpvec2 v = buffer_ld2(a2, i); buffer_st2(b2, i, v);",
      "afpvec4 v = buffer_ld4(a4, i); buffer_st4(b4, i, v);",
      "afpvec8 v = buffer_ld8(a8, i); buffer_st8(b8, i, v);",
      "buffer_cp1(b1, i, a1, i);",
      "buffer_cp2(b2, i, a2, i);",
      "buffer_cp4(b4, i, a4, i);",
      "buffer_cp8(b8, i, a8, i);",
      "buffer_cp1to4(b4, i, a1, q);",
      "buffer_cp1to8(b8, i, a1, q, q);",
      "buffer_cp4to8(b8, i, a4, q.xy);",
      "buffer_cp4to1(b1, q, a4, i);",
      "buffer_cp8to1(b1, q, q, a8, i);",
      "buffer_cp8to4(b4, q.xy, a8, i);",
      "buffer_cp1to4(b4, u, a1, uvec4(u)); buffer_st8(b8, u, buffer_ld8(a8, u));",
      "l1[0] = sfp2lfp(a1[i]); barrier(); buffer_st1(b1, i, lfp2afp(l1[0]));",
      "l4[0] = sfp2lfpvec4(a4[i]); barrier(); buffer_st4(b4, i, lfp2afpvec4(l4[0]));",
      "l1[0] = afp2lfp(buffer_ld1(a1, i)); barrier(); buffer_st1(b1, i, lfp2afp(l1[0]));",
      "l4[0] = afp2lfpvec4(buffer_ld4(a4, i)); barrier(); buffer_st4(b4, i, lfp2afpvec4(l4[0]));",
      "if (i < psc(n) && psc(f) > 0.5) buffer_cp1(b1, i, a1, i);",
      "acp s = acp(buffer_ld1(a1, i)); acpvec4 t = acpvec4(buffer_ld4(a4, i)) * s;"
      "buffer_st4(b4, i, afpvec4(t));",
      // Eight lanes are two vectors of four, whatever they are stored as.
      "afpvec8 v = buffer_ld8(a8, i); buffer_st4(b4, i, v[0] + v[1]);",
  };
  for (const std::string& body : bodies) {
    INFO(form << ": " << body);
    require_compiles(compile_body(body, form));
  }
}

TEST_CASE("dialect: calls are statements that an if and else may hold", "[dialect]") {
  const std::string form = GENERATE(Catch::Generators::from_range(kForms));
  const std::vector<std::string> calls = {
      "buffer_st1(b1, i, buffer_ld1(a1, i))",
      "buffer_st2(b2, i, buffer_ld2(a2, i))",
      "buffer_st4(b4, i, buffer_ld4(a4, i))",
      "buffer_st8(b8, i, buffer_ld8(a8, i))",
      "buffer_cp1(b1, i, a1, i)",
      "buffer_cp2(b2, i, a2, i)",
      "buffer_cp4(b4, i, a4, i)",
      "buffer_cp8(b8, i, a8, i)",
      "buffer_cp1to4(b4, i, a1, q)",
      "buffer_cp1to8(b8, i, a1, q, q)",
      "buffer_cp4to8(b8, i, a4, q.xy)",
      "buffer_cp4to1(b1, q, a4, i)",
      "buffer_cp8to1(b1, q, q, a8, i)",
      "buffer_cp8to4(b4, q.xy, a8, i)",
  };
  for (const std::string& call : calls) {
    INFO(form << ": " << call);
    require_compiles(compile_body("if (i < 3) " + call + "; else " + call + ";", form));
  }
}

TEST_CASE("dialect: expressions as arguments", "[dialect]") {
  const std::string form = GENERATE(Catch::Generators::from_range(kForms));
  for (const char* body : {
           "afpvec4 a = buffer_ld4(a4, i), b = a; buffer_st4(b4, i + 1, a + b);",
           "afpvec4 a = buffer_ld4(a4, i); afp s = a.x; buffer_st4(b4, i, i > 2 ? a : a * s);",
           "afpvec2 a = buffer_ld2(a2, i), b = a; buffer_st2(b2, i + 1, a + b);",
           "afp a = buffer_ld1(a1, i), b = a; buffer_st1(b1, i ^ 1, a + b);",
           "afpvec8 a = buffer_ld8(a8, i), b = a; buffer_st8(b8, i + 1, a + b);",
           "buffer_cp4to1(b1, q + 1, a4, i + 1); buffer_cp1to4(b4, i + 1, a1, q + 1);",
           "l4[i & 3] = sfp2lfpvec4(a4[i + 1]);",
       }) {
    INFO(form << ": " << body);
    require_compiles(compile_body(body, form));
  }
}

TEST_CASE("dialect: arguments are evaluated once", "[dialect]") {
  const std::string form = GENERATE(Catch::Generators::from_range(kForms));
  const std::vector<std::pair<std::string, std::size_t>> cases = {
      {"buffer_st1(b1, once(i), buffer_ld1(a1, once(i)));", 2},
      {"buffer_st2(b2, once(i), buffer_ld2(a2, once(i)));", 2},
      {"buffer_st4(b4, once(i), buffer_ld4(a4, once(i)) * afp(once(1)));", 3},
      {"buffer_st8(b8, once(i), buffer_ld8(a8, once(i)));", 2},
      {"buffer_cp1(b1, once(i), a1, once(i));", 2},
      {"buffer_cp4(b4, once(i), a4, once(i));", 2},
      {"buffer_cp8(b8, once(i), a8, once(i));", 2},
      {"buffer_cp1to4(b4, once(i), a1, q + once(i));", 2},
      {"buffer_cp1to8(b8, once(i), a1, q + once(i), q * once(i));", 3},
      {"buffer_cp4to8(b8, once(i), a4, q.xy + once(i));", 2},
      {"buffer_cp4to1(b1, q + once(i), a4, once(i));", 2},
      {"buffer_cp8to1(b1, q + once(i), q * once(i), a8, once(i));", 3},
      {"buffer_cp8to4(b4, q.xy + once(i), a8, once(i));", 2},
      {"l4[0] = sfp2lfpvec4(a4[once(i)]); buffer_st4(b4, i, lfp2afpvec4(l4[once(0)]));", 2},
  };
  for (const auto& [body, calls] : cases) {
    INFO(form << ": " << body);
    const auto outcome = compile_body(body, form);
    require_compiles(outcome);
    // Everything is inlined, so each evaluation is one atomic addition.
    CHECK(count_ops(*outcome.blob, spv::OpAtomicIAdd) == calls);
  }
}

TEST_CASE("dialect: names of the kernel are not captured", "[dialect]") {
  const std::string form = GENERATE(Catch::Generators::from_range(kForms));
  for (const char* name : {"_i", "_id2", "_im2", "_vs", "_v", "_v0", "_old_v", "_new_v", "_si",
                           "_si4d2", "v", "a", "b", "x", "buf", "dst", "src", "di", "si"}) {
    const std::string n = name;
    INFO(form << ": " << n);
    require_compiles(compile_body("int " + n + " = i; buffer_cp4to1(b1, ivec4(" + n + "), a4, " +
                                      n + "); buffer_cp1to4(b4, " + n + ", a1, ivec4(" + n +
                                      ")); buffer_st4(b4, " + n + ", buffer_ld4(a4, " + n +
                                      ")); buffer_cp8to4(b4, ivec2(" + n + "), a8, " + n + ");",
                                  form));
  }
}

TEST_CASE("dialect: copies convert nothing", "[dialect]") {
  const std::string form = GENERATE(Catch::Generators::from_range(kForms));
  const bool packed = form.starts_with("fp16p");
  const std::vector<std::pair<std::string, bool>> copies = {
      {"buffer_cp1(b1, i, a1, i);", false},
      {"buffer_cp2(b2, i, a2, i);", false},
      {"buffer_cp4(b4, i, a4, i);", false},
      {"buffer_cp8(b8, i, a8, i);", false},
      {"buffer_cp4to8(b8, i, a4, q.xy);", false},
      {"buffer_cp8to4(b4, q.xy, a8, i);", false},
      // Between scalars of 32 bits and packed vectors of 16 there is no copy without one.
      {"buffer_cp1to4(b4, i, a1, q);", packed},
      {"buffer_cp1to8(b8, i, a1, q, q + 1);", packed},
      {"buffer_cp4to1(b1, q, a4, i);", packed},
      {"buffer_cp8to1(b1, q, q + 1, a8, i);", packed},
  };
  for (const auto& [body, converts] : copies) {
    INFO(form << ": " << body);
    std::string head(kHead);
    // The index itself is no float.
    head.replace(head.find("int i = int("), 12, "uint i =   (");
    head.replace(head.find("ivec4 q = ivec4("), 16, "uvec4 q = uvec4(");
    const auto outcome = compile(head + body + "\n}\n", form);
    require_compiles(outcome);
    CHECK((count_conversions(*outcome.blob) > 0) == converts);
  }
}

TEST_CASE("dialect: a variant needs no capability that its name does not promise", "[dialect]") {
  const std::string body =
      "l1[0] = sfp2lfp(a1[i]); l4[0] = sfp2lfpvec4(a4[i]); barrier();"
      "buffer_st1(b1, i, lfp2afp(l1[0])); buffer_st4(b4, i, lfp2afpvec4(l4[0]));"
      "buffer_st2(b2, i, buffer_ld2(a2, i)); buffer_cp4(b4, i, a4, i);";
  const std::vector<std::pair<std::string, std::vector<std::uint32_t>>> cases = {
      {"fp32", {spv::CapabilityShader}},
      {"fp16p", {spv::CapabilityShader}},
      {"fp16pa", {spv::CapabilityShader, spv::CapabilityFloat16}},
      {"fp16s", {spv::CapabilityShader, spv::CapabilityStorageBuffer16BitAccess}},
      {"fp16sa",
       {spv::CapabilityShader, spv::CapabilityFloat16, spv::CapabilityStorageBuffer16BitAccess}},
  };
  for (const auto& [form, capabilities] : cases) {
    INFO(form);
    const auto outcome = compile_body(body, form);
    require_compiles(outcome);
    CHECK(outcome.blob->reflection.capabilities == capabilities);
    CHECK(outcome.blob->reflection.spirv_version == 0x00010000);
    const bool storage = form.starts_with("fp16s");
    CHECK(outcome.blob->reflection.extensions.size() == (storage ? 1u : 0u));
  }
}

TEST_CASE("dialect: a load of another size is an error in every variant", "[dialect]") {
  for (const std::string& form : kForms) {
    for (const char* body :
         {"afpvec4 v = buffer_ld4(a1, i);", "afpvec2 v = buffer_ld2(a1, i);",
          "afp v = buffer_ld1(a4, i);", "l4[0] = sfp2lfpvec4(a1[i]);", "l1[0] = sfp2lfp(a4[i]);"}) {
      INFO(form << ": " << body);
      CHECK(compile_body(body, form).blob == nullptr);
    }
  }
}

TEST_CASE("dialect: a value of another size is an error in every variant", "[dialect]") {
  const std::string form = GENERATE(Catch::Generators::from_range(kForms));
  for (const char* body : {
           "buffer_st4(b4, i, afp(1));",
           "buffer_st2(b2, i, afp(1));",
           "buffer_st4(b4, i, buffer_ld2(a2, i));",
           "buffer_st1(b1, i, buffer_ld4(a4, i));",
           "buffer_st1(b1, i, lfp2afpvec4(l4[0]));",
           "buffer_ld4(a4);",
           "buffer_st4(b4, i);",
       }) {
    INFO(form << ": " << body);
    const auto outcome = compile_body(body, form);
    CHECK(outcome.blob == nullptr);
    CHECK_FALSE(outcome.diagnostics.empty());
  }
}

TEST_CASE("dialect: a kernel may include it by itself as well", "[dialect]") {
  const std::string path = std::string(SPIRKILN_SOURCE_ROOT) + "/glsl/dialect/dialect.glsl";
  const std::string form = GENERATE(Catch::Generators::from_range(kForms));
  std::string text(kHead);
  text.insert(text.find('\n') + 1, "#include \"" + path + "\"\n");
  require_compiles(compile(text + "buffer_cp4(b4, i, a4, i); }\n", form));
}

TEST_CASE("dialect: psc takes the constant where it is set, else the push constant", "[dialect]") {
  const auto outcome = compile_body("buffer_st1(b1, psc(n), afp(psc(f)));", "fp32");
  require_compiles(outcome);
  CHECK(outcome.blob->reflection.push_bytes == 8);
  REQUIRE(outcome.blob->reflection.specs.size() == 2);
  CHECK(outcome.blob->reflection.specs[0].name == "n");
  CHECK(outcome.blob->reflection.specs[1].name == "f");
  CHECK(outcome.blob->reflection.specs[1].type == table::SpecType::kFloat);
}
