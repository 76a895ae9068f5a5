// SPDX-License-Identifier: Apache-2.0
// Reflection of kernels whose facts are plain from their text.
#include "reflect.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "glslang_front.hpp"
#include "spirv_tools.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::uint32_t> compile(const std::string& text, std::size_t target = 0) {
  gen::SourceStore store;
  auto front = gen::compile(text, "k.comp", gen::kTargets[target], store);
  std::string said;
  for (const auto& d : front.diagnostics) said += gen::to_string(d) + "\n";
  INFO(said);
  REQUIRE(front.ok);
  return front.words;
}

gen::Reflection reflection(const std::string& text, std::size_t target = 0) {
  auto r = gen::reflect(compile(text, target));
  INFO((r.ok() ? "" : r.error().message));
  REQUIRE(r.ok());
  return *r;
}

}  // namespace

TEST_CASE("reflect: bindings with kind and direction, sorted", "[reflect]") {
  // Vulkan 1.0 and 1.1 spell storage buffers differently.
  for (const std::size_t target : {0u, 1u}) {
    const auto r = reflection(
        "#version 450\n"
        "layout(binding = 5) buffer F { float f[]; };\n"
        "layout(set = 1, binding = 0) readonly buffer G { float g[]; };\n"
        "layout(binding = 2) writeonly buffer H { float h[]; };\n"
        "layout(binding = 3) uniform U { float u; };\n"
        "layout(binding = 4) uniform sampler3D s;\n"
        "layout(binding = 1, rgba16f) writeonly uniform image3D m;\n"
        "void main() { h[0] = f[0] + g[0] + u + texelFetch(s, ivec3(0), 0).r;\n"
        "  imageStore(m, ivec3(0), vec4(u)); }\n",
        target);
    using table::BindingKind;
    REQUIRE(r.bindings.size() == 6);
    const auto check = [&](std::size_t i, int set, int binding, BindingKind kind, int flags) {
      INFO(i);
      CHECK(r.bindings[i].set == set);
      CHECK(r.bindings[i].binding == binding);
      CHECK(r.bindings[i].kind == kind);
      CHECK(r.bindings[i].flags == flags);
    };
    check(0, 0, 1, BindingKind::kStorageImage, table::kWriteOnly);
    check(1, 0, 2, BindingKind::kStorageBuffer, table::kWriteOnly);
    check(2, 0, 3, BindingKind::kUniformBuffer, table::kReadOnly);
    check(3, 0, 4, BindingKind::kSampledImage, table::kReadOnly);
    check(4, 0, 5, BindingKind::kStorageBuffer, 0);
    check(5, 1, 0, BindingKind::kStorageBuffer, table::kReadOnly);
  }
}

TEST_CASE("reflect: two views of one binding are one binding", "[reflect]") {
  const auto r = reflection(
      "#version 450\nlayout(binding = 0) readonly buffer A { float a[]; };\n"
      "layout(binding = 0) writeonly buffer B { vec4 b[]; };\nvoid main() { b[1] = vec4(a[0]); "
      "}\n");
  REQUIRE(r.bindings.size() == 1);
  CHECK(r.bindings[0].flags == 0);
}

TEST_CASE("reflect: local size, fixed and by constant", "[reflect]") {
  const auto fixed = reflection(
      "#version 450\nlayout(local_size_x = 8, local_size_y = 4, local_size_z = 2) in;\n"
      "void main() {}\n");
  CHECK(fixed.local_size == std::array<std::uint32_t, 3>{8, 4, 2});
  CHECK(fixed.local_size_id[0] == table::kNone);

  const auto mixed = reflection(
      "#version 450\nlayout(local_size_x = 8, local_size_x_id = 233, local_size_y = 4) in;\n"
      "layout(local_size_z_id = 235) in;\nvoid main() {}\n");
  CHECK(mixed.local_size == std::array<std::uint32_t, 3>{8, 4, 1});
  CHECK(mixed.local_size_id == std::array<std::uint32_t, 3>{233, table::kNone, 235});

  CHECK(reflection("#version 450\nvoid main() {}\n").local_size ==
        std::array<std::uint32_t, 3>{1, 1, 1});
}

TEST_CASE("reflect: specialization constants of every type", "[reflect]") {
  const auto r = reflection(
      "#version 450\n"
      "layout(constant_id = 7) const int i = -1;\n"
      "layout(constant_id = 3) const uint u = 9;\n"
      "layout(constant_id = 5) const float f = 1.5;\n"
      "layout(constant_id = 4) const bool b = true;\n"
      "layout(binding = 0) buffer B { float o[]; };\n"
      "void main() { o[u] = b ? f : float(i); }\n");
  REQUIRE(r.specs.size() == 4);
  CHECK(r.specs[0].id == 3);
  CHECK(r.specs[0].name == "u");
  CHECK(r.specs[0].type == table::SpecType::kUint);
  CHECK(r.specs[0].default_bits == 9);
  CHECK(r.specs[1].type == table::SpecType::kBool);
  CHECK(r.specs[1].default_bits == 1);
  CHECK(r.specs[2].type == table::SpecType::kFloat);
  CHECK(r.specs[2].default_bits == 0x3fc00000);
  CHECK(r.specs[3].type == table::SpecType::kInt);
  CHECK(r.specs[3].default_bits == 0xffffffff);
}

TEST_CASE("reflect: push-constant bytes come from offsets", "[reflect]") {
  CHECK(
      reflection("#version 450\nlayout(push_constant) uniform P { int a; vec3 b; float c; vec2 d; "
                 "} p;\nlayout(binding = 0) buffer B { float o[]; };\n"
                 "void main() { o[p.a] = p.b.x + p.c + p.d.y; }\n")
          .push_bytes == 40);  // 4, padding to 16, 12 + 4, 8
  CHECK(reflection("#version 450\nlayout(push_constant) uniform P { float a[3]; mat4 m; } p;\n"
                   "layout(binding = 0) buffer B { float o[]; };\n"
                   "void main() { o[0] = p.a[1] + p.m[0][0]; }\n")
            .push_bytes == 80);  // 12, padding to 16, 64
}

TEST_CASE("reflect: shared bytes, also where constants decide", "[reflect]") {
  const std::string body = "layout(binding = 0) buffer B { float o[]; };\n";
  CHECK(reflection("#version 450\n" + body +
                   "shared vec4 a[10]; shared float b[3];\n"
                   "void main() { a[0] = vec4(o[0]); b[1] = 1.0; o[1] = a[0].x + b[1]; }\n")
            .shared_bytes == 172);
  // 3 * 8 + 2 = 26 vectors, then (26 / 4) % 5 = 1 scalar.
  CHECK(reflection("#version 450\nlayout(local_size_x_id = 1) in; layout(local_size_x = 8) in;\n" +
                   body +
                   "layout(constant_id = 0) const uint N = 3;\n"
                   "const uint L = N * gl_WorkGroupSize.x + 2u;\n"
                   "shared vec4 a[L]; shared float b[(L / 4u) % 5u];\n"
                   "void main() { a[0] = vec4(o[0]); b[0] = 1.0; o[1] = a[0].x + b[0]; }\n")
            .shared_bytes == 26 * 16 + 4);
}

TEST_CASE("reflect: subgroup operations are flagged and need 1.3", "[reflect]") {
  const std::string text =
      "#version 450\n#extension GL_KHR_shader_subgroup_arithmetic : require\n"
      "layout(binding = 0) buffer B { float o[]; };\nvoid main() { o[0] = subgroupAdd(o[1]); }\n";
  CHECK(gen::lowest_target(text) == 1);
  CHECK(gen::lowest_target("#version 450\nvoid main() {}\n") == 0);
  const auto r = reflection(text, 1);
  CHECK((r.flags & table::kUsesSubgroupOps) != 0);
  CHECK(r.spirv_version == 0x00010300);
}

TEST_CASE("reflect: what a table cannot describe is refused with a reason", "[reflect]") {
  const auto r = gen::reflect(compile(
      "#version 450\nlayout(binding = 3) buffer B { float o[]; } b[2];\nvoid main() { b[0].o[0] = "
      "1.0; }\n"));
  REQUIRE_FALSE(r.ok());
  CHECK_THAT(r.error().message, ContainsSubstring("binding 3 is an array"));
}

TEST_CASE("reflect: damaged words are an error or a reflection, never a crash", "[reflect]") {
  const auto words = compile(
      "#version 450\nlayout(local_size_x_id = 1) in;\nlayout(constant_id = 0) const uint N = 3;\n"
      "layout(binding = 0) buffer B { vec4 o[]; };\nlayout(push_constant) uniform P { int a; } p;\n"
      "shared vec4 s[N * 2u + gl_WorkGroupSize.x];\n"
      "void main() { s[0] = o[p.a]; barrier(); o[0] = s[0]; }\n");
  REQUIRE(gen::reflect(words).ok());
  CHECK_FALSE(gen::reflect({}).ok());
  for (std::size_t size = 0; size < words.size(); ++size) {
    (void)gen::reflect({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(size)}).ok();
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    auto copy = words;
    for (int flips = 0; flips < 3; ++flips) {
      copy[random() % copy.size()] ^= 1u << (random() % 32);
    }
    (void)gen::reflect(copy).ok();
    (void)gen::spec_names(copy);
  }
}

TEST_CASE("reflect: each word of the push constants has its type", "[reflect]") {
  const auto r = reflection(
      "#version 450\n"
      "struct S { float f; int i; };\n"
      "layout(push_constant) uniform P { uint a; vec2 b; layout(offset = 16) S s[2]; mat2 m;\n"
      "  double d; vec3 v; } p;\n"
      "layout(binding = 0) writeonly buffer O { float o[]; };\n"
      "void main() { o[p.a] = p.b.x + p.s[1].f + p.m[1].y + float(p.d) + p.v.z + float(p.s[1].i); "
      "}\n");
  // std430: a 0; b 8; s 16 and 24; m 32; d 48; v 64.
  const auto u = std::optional(table::SpecType::kUint), i = std::optional(table::SpecType::kInt),
             f = std::optional(table::SpecType::kFloat), none = std::optional<table::SpecType>();
  CHECK(r.push_bytes == 76);
  CHECK(r.push_types ==
        std::vector{u, none, f, f, f, i, f, i, f, f, f, f, none, none, none, none, f, f, f});
}
