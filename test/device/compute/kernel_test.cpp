// SPDX-License-Identifier: Apache-2.0
// Kernels from words and from a table, run on buffers and images, against what the host computes.
#include <stdlib.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>

#include "compute_helpers.hpp"
#include "compute_table.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;
using compute::Extent;
using compute::Kernel;

namespace {

// The document's example, as it stands there.
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

constexpr std::uint32_t kVectors = 1024;

void check_123(const std::vector<std::uint32_t>& words, const std::string& form,
               const compute::KernelOptions& options) {
  INFO(form);
  const auto values = small_numbers(std::size_t{4} * kVectors);
  const auto stored = must(compute::to_storage(values, form));
  const Kernel kernel = must(Kernel::create(*device(), words, options));
  const auto a = buffer_with(*device(), stored);
  const auto b = must(compute::Buffer::create(*device(), stored.size()));
  must(compute::run(kernel, {.bindings = {{0, a}, {1, b}}, .invocations = {kVectors, 1, 1}}));
  const auto results = must(compute::from_storage(contents<std::byte>(b), form));
  std::vector<float> expected;
  for (const float v : values) expected.push_back(v + 123);
  CHECK(results == expected);
}

KernelTable table() {
  return must(KernelTable::from_memory(tables::compute::table(), "the test's table"));
}

struct Size {
  std::uint32_t width, height;
};

}  // namespace

TEST_CASE("the document's example runs", "[words]") {
  Option opt;
  // 您可以控制Vulkan扩展行为
  // 当GPU支持16位存储的话
  opt.use_fp16_storage = false;

  std::vector<uint32_t> spirv;
  spirkiln::compile_spirv_module(my_glsl_data, sizeof(my_glsl_data) - 1, opt, spirv);
  REQUIRE_FALSE(spirv.empty());
  check_123(spirv, variant_name(opt), {.local_size = {64, 1, 1}});
}

TEST_CASE("the document's example in all forms and local sizes", "[words]") {
  for (const bool storage : {false, true}) {
    for (const bool packed : {false, true}) {
      for (const bool arithmetic : {false, true}) {
        if (arithmetic && !packed && !storage) continue;
        Option opt;
        opt.use_fp16_storage = storage;
        opt.use_fp16_packed = packed;
        opt.use_fp16_arithmetic = arithmetic;
        const auto words = compile(my_glsl_data, opt);
        check_123(words, variant_name(opt), {.local_size = {64, 1, 1}});
      }
    }
  }
  const auto words = compile(my_glsl_data, fp32());
  check_123(words, "fp32", {});
  check_123(words, "fp32", {.local_size = {32, 2, 1}});
  check_123(words, "fp32", {.optimal_for = {kVectors, 1, 1}});
  CHECK(must(Kernel::create(*device(), words, {})).local_size() == Extent{1, 1, 1});
  CHECK(must(Kernel::create(*device(), words, {.optimal_for = {kVectors, 1, 1}})).local_size() ==
        compute::optimal_local_size(*device(), {kVectors, 1, 1}));
}

TEST_CASE("a kernel tells what it has", "[words]") {
  const auto words = compile(R"(#version 450
layout(local_size_x_id = 233, local_size_y = 2) in;
layout(constant_id = 4) const int offset = 1;
layout(constant_id = 5) const bool negate = false;
layout(push_constant) uniform parameter { vec3 v; float last; uint n; } p;
layout(binding = 2) readonly buffer In { uint head[4]; vec4 tail[]; } a;
layout(set = 1, binding = 0) uniform Sizes { vec4 s; float f; } u;
layout(set = 1, binding = 3, r32f) uniform image3D t;
layout(binding = 7) uniform sampler1D q;
void main() {
  vec4 x = a.tail[a.head[0]] + u.s * u.f + texelFetch(q, 0, 0) + p.last + float(offset) + p.v.x;
  if (negate) x = -x;
  imageStore(t, ivec3(gl_GlobalInvocationID), x + imageLoad(t, ivec3(0)));
}
)",
                             fp32());
  const Kernel kernel = must(Kernel::create(*device(), words, {.name = "all"}));
  CHECK(kernel.name() == "all");
  CHECK(kernel.form().empty());
  CHECK(kernel.push_bytes() == 20);
  CHECK(kernel.local_size() == Extent{1, 2, 1});
  const auto& b = kernel.bindings();
  REQUIRE(b.size() == 4);
  CHECK((b[0].set == 0 && b[0].binding == 2 && b[0].reads && !b[0].writes));
  CHECK(b[0].kind == compute::ResourceKind::kStorageBuffer);
  CHECK(b[0].min_bytes == 32);  // four words and one vector
  CHECK((b[1].binding == 7 && b[1].kind == compute::ResourceKind::kSampledImage));
  CHECK((b[1].dimensions == 1 && !b[1].writes));
  CHECK((b[2].set == 1 && b[2].kind == compute::ResourceKind::kUniformBuffer));
  CHECK((b[2].min_bytes == 20 && b[2].name == "u"));
  CHECK((b[3].kind == compute::ResourceKind::kStorageImage && b[3].dimensions == 3));
  CHECK((b[3].reads && b[3].writes && b[3].format == compute::ImageFormat::kR32f));
  const auto& c = kernel.constants();
  REQUIRE(c.size() == 3);
  CHECK((c[0].id == 4 && c[0].name == "offset" && c[0].type == "int"));
  CHECK((c[1].id == 5 && c[1].name == "negate" && c[1].type == "bool"));
  CHECK((c[2].id == 233 && c[2].type == "uint"));
  CHECK(kernel.groups_for({5, 5, 5}) == Extent{5, 3, 5});
}

TEST_CASE("constants by name and by id, sets, uniform buffers, push constants", "[words]") {
  const auto words = compile(R"(#version 450
layout(local_size_x_id = 233) in;
layout(constant_id = 0) const int size = 0;
layout(constant_id = 1) const float factor = 1.0;
layout(constant_id = 2) const bool negate = false;
layout(push_constant) uniform parameter { int size; float offset; } p;
layout(binding = 0) readonly buffer A { float a[]; };
layout(set = 2, binding = 1) writeonly buffer B { float b[]; };
layout(set = 2, binding = 0) uniform U { float scale[2]; } u;
void main() {
  int i = int(gl_GlobalInvocationID.x);
  if (i >= psc(size)) return;
  float v = a[i] * factor * u.scale[1] + p.offset;
  b[i] = negate ? -v : v;
}
)",
                             fp32());
  struct Push {
    std::int32_t size;
    float offset;
  };
  const auto values = small_numbers(300);
  const auto a = buffer_with(*device(), values);
  const std::vector<float> scales = {7, 0, 0, 0, 0.5f, 0, 0, 0};  // std140: 16 bytes each
  const auto u = buffer_with(*device(), scales, compute::Memory::kUpload);
  struct Case {
    std::vector<compute::Constant> constants;
    std::int32_t pushed;
    std::size_t count;
    float factor;
    bool negate;
  };
  for (const Case& k :
       {Case{{}, 100, 100, 1, false}, Case{{{"size", 200}, {"factor", 3.0f}}, 5, 200, 3, false},
        Case{{{0, 150u}, {2, true}}, 5, 150, 1, true},
        Case{{{"negate", true}, {1, -2.0f}}, 300, 300, -2, true}}) {
    for (const Extent local : {Extent{1, 1, 1}, Extent{64, 1, 1}}) {
      const Kernel kernel =
          must(Kernel::create(*device(), words, {.local_size = local, .constants = k.constants}));
      CHECK(kernel.local_size() == local);
      const std::vector<float> before(300, -1);
      const auto b = buffer_with(*device(), before, compute::Memory::kDownload);
      const Push push{k.pushed, 10};
      must(compute::run(kernel, {.bindings = {{0, a}, {1, b, 2}, {0, u, 2}},
                                 .push = bytes_of(push),
                                 .groups = kernel.groups_for({300, 1, 1})}));
      std::vector<float> expected = before;
      for (std::size_t i = 0; i < k.count; ++i) {
        const float v = values[i] * k.factor * 0.5f + 10;
        expected[i] = k.negate ? -v : v;
      }
      CHECK(contents<float>(b) == expected);
    }
  }
}

TEST_CASE("a table's kernel in every form, on buffers and images", "[table]") {
  const Size sizes[] = {{33, 7}, {1, 1}, {100, 40}};
  std::set<std::string> ran;
  for (const std::string& form : variant_names()) {
    const Kernel kernel =
        must(Kernel::create(*device(), table(), {.kernel = "affine", .forms = {form}},
                            {.local_size = {8, 4, 1}, .constants = {{"scale", 2.0f}, {"add", 3}}}));
    INFO(kernel.name());
    CHECK(kernel.form() == form);
    CHECK(kernel.local_size() == Extent{8, 4, 1});
    const bool on_images = form.starts_with("image");
    const std::string storage = form == "image" ? "fp32" : on_images ? "fp16p" : form;
    for (const Size& size : sizes) {
      const auto values = small_numbers(std::size_t{4} * size.width * size.height);
      const auto stored = must(compute::to_storage(values, storage));
      std::vector<std::byte> results(stored.size());
      compute::Dispatch dispatch;
      dispatch.push = bytes_of(size);
      dispatch.invocations = {size.width, size.height, 1};
      if (on_images) {
        const compute::ImageShape shape{
            2,
            {size.width, size.height, 1},
            storage == "fp32" ? compute::ImageFormat::kRgba32f : compute::ImageFormat::kRgba16f};
        auto a = must(compute::Image::create(*device(), shape));
        const auto b = must(compute::Image::create(*device(), shape));
        must(a.write(stored));
        dispatch.bindings = {{0, a}, {1, b}};
        must(compute::run(kernel, dispatch));
        must(b.read(results));
      } else {
        const auto a = buffer_with(*device(), stored);
        const auto b = must(compute::Buffer::create(*device(), stored.size()));
        dispatch.bindings = {{0, a}, {1, b}};
        must(compute::run(kernel, dispatch));
        must(b.read(results));
      }
      std::vector<float> expected;
      for (const float v : values) expected.push_back(v * 2 + 3);
      CHECK(must(compute::from_storage(results, storage)) == expected);
    }
    ran.insert(kernel.name());
  }
  CHECK(ran.size() == 10);
}

TEST_CASE("what a table is asked for", "[table]") {
  const KernelTable t = table();
  // The best first: what the manifest's default order says.
  CHECK(must(Kernel::create(*device(), t, {.kernel = "affine"})).form() == "fp16s");
  CHECK(must(Kernel::create(*device(), t, {.kernel = "affine", .forms = {"fp16pa", "fp32"}}))
            .form() == "fp16pa");
  const Kernel chosen =
      must(Kernel::create(*device(), t, {.kernel = "affine"}, {.optimal_for = {4, 300, 1}}));
  CHECK(chosen.local_size() == Extent{4, 16, 1});

  const auto none = Kernel::create(*device(), t, {.kernel = "affin"});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::kNoVariant);
  const auto form = Kernel::create(*device(), t, {.kernel = "affine", .forms = {"fp8"}});
  REQUIRE_FALSE(form);
  CHECK_THAT(form.error().message, ContainsSubstring("'fp8'") && ContainsSubstring("fp16sa"));
  const auto axis = Kernel::create(*device(), t, {.kernel = "affine", .axes = {{"TILE", "1"}}});
  REQUIRE_FALSE(axis);
  CHECK_THAT(axis.error().message, ContainsSubstring("has no axis TILE"));
  const auto constant =
      Kernel::create(*device(), t, {.kernel = "affine"}, {.constants = {{"scal", 2.0f}}});
  REQUIRE_FALSE(constant);
  CHECK_THAT(constant.error().message, ContainsSubstring("'scal'") &&
                                           ContainsSubstring("scale (id 0, float)") &&
                                           ContainsSubstring("add (id 1, uint)"));
}

namespace {

// A variable of the environment, for as long as this lives.
struct Set {
  Set(const char* n, const std::string& value) : name(n) { ::setenv(n, value.c_str(), 1); }
  ~Set() { ::unsetenv(name); }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;
  const char* name;
};

std::string form_with(const char* variable, const std::string& value,
                      const compute::KernelRequest& request = {.kernel = "affine"}) {
  const Set set(variable, value);
  return must(Kernel::create(*device(), table(), request)).form();
}

std::string refusal_with(const char* variable, const std::string& value, ErrorCode code,
                         const compute::KernelRequest& request = {.kernel = "affine"}) {
  const Set set(variable, value);
  const auto made = Kernel::create(*device(), table(), request);
  if (made) return "made as " + made->name();
  CHECK(made.error().code == code);
  return made.error().message;
}

}  // namespace

// Without a wish the order is fp16s, fp16p, fp16sa, fp16pa, fp32.
TEST_CASE("the user's wishes reach single kernels", "[table][wishes]") {
  CHECK(form_with("SPIRKILN_AVOID", "affine_fp16s") == "fp16p");
  CHECK(form_with("SPIRKILN_AVOID", "affine_fp16s, affine_fp16p") == "fp16sa");
  CHECK(form_with("SPIRKILN_KERNELS", "affine=fp32") == "fp32");
  CHECK(form_with("SPIRKILN_VARIANT", "fp16pa") == "fp16pa");
  CHECK(form_with("SPIRKILN_VARIANT", "image_fp16s") == "image_fp16s");
  CHECK_THAT(refusal_with("SPIRKILN_AVOID", "affine", ErrorCode::kNoVariant),
             ContainsSubstring("the user avoids affine"));

  // Of the forms that a program takes, the wished one; else its own.
  const compute::KernelRequest two{.kernel = "affine", .forms = {"fp16sa", "fp32"}};
  CHECK(form_with("SPIRKILN_VARIANT", "fp32", two) == "fp32");
  CHECK(form_with("SPIRKILN_VARIANT", "fp16p", two) == "fp16sa");

  // What the program says goes before the environment.
  const compute::KernelRequest avoiding{.kernel = "affine", .avoid = "affine_fp16s"};
  CHECK(must(Kernel::create(*device(), table(), avoiding)).form() == "fp16p");
  CHECK(form_with("SPIRKILN_AVOID", "affine", avoiding) == "fp16p");
}

TEST_CASE("wishes that name nothing are refused by single kernels", "[table][wishes]") {
  constexpr auto kWrong = ErrorCode::kInvalidArgument;
  CHECK(refusal_with("SPIRKILN_AVOID", "affine_fp61s", kWrong) ==
        "SPIRKILN_AVOID: there is no kernel or variant 'affine_fp61s'; the nearest is "
        "'affine_fp16s'");
  CHECK_THAT(refusal_with("SPIRKILN_KERNELS", "afine=fp32", kWrong),
             ContainsSubstring("there is no kernel 'afine'; the nearest is 'affine'"));
  CHECK_THAT(refusal_with("SPIRKILN_KERNELS", "affine=fp8", kWrong),
             ContainsSubstring("affine has no form 'fp8'; there are"));
  CHECK_THAT(refusal_with("SPIRKILN_AXES", "DIRCT=1", kWrong),
             ContainsSubstring("no axis 'DIRCT'"));
  CHECK_THAT(refusal_with("SPIRKILN_VARIANT", "fp61", kWrong),
             ContainsSubstring("SPIRKILN_VARIANT: no form is called 'fp61'"));
  CHECK_THAT(refusal_with("SPIRKILN_AVOID", ",", kWrong), ContainsSubstring("an empty part"));
  CHECK_THAT(refusal_with("SPIRKILN_AVOID", "a\x1b[31m\n", kWrong),
             ContainsSubstring("'a\\x1b[31m\\x0a'"));
  CHECK_THAT(refusal_with("SPIRKILN_NOTHING", "", ErrorCode::kInvalidArgument,
                          {.kernel = "affine", .avoid = "affin"}),
             ContainsSubstring("KernelRequest::avoid: there is no kernel or variant 'affin'"));
  CHECK_THAT(
      refusal_with("SPIRKILN_NOTHING", "", ErrorCode::kNoVariant, {.kernel = "afine"}),
      ContainsSubstring("the test's table has no kernel \"afine\"; the nearest is \"affine\""));
  // Names of the built-in kernels are known in a process that has others, too.
  CHECK(form_with("SPIRKILN_AVOID", "gemm_nc") == "fp16s");
  CHECK(form_with("SPIRKILN_AXES", "DIRECT=1") == "fp16s");
}

TEST_CASE("bytes that are no whole lanes are refused", "[buffers]") {
  const std::byte bytes[7]{};
  for (const char* form : {"fp32", "fp16p", "fp16sa"}) {
    const auto values = compute::from_storage(bytes, form);
    REQUIRE_FALSE(values);
    CHECK(values.error().code == ErrorCode::kInvalidArgument);
    CHECK_THAT(values.error().message, ContainsSubstring("7 bytes are no whole number of lanes"));
  }
  CHECK(must(compute::from_storage(std::span(bytes).first(6), "fp16p")).size() == 3);
}

TEST_CASE("images of every format and dimension", "[images]") {
  using compute::ImageFormat;
  const std::pair<ImageFormat, std::size_t> formats[] = {{ImageFormat::kR16f, 2},
                                                         {ImageFormat::kR32f, 4},
                                                         {ImageFormat::kRgba16f, 8},
                                                         {ImageFormat::kRgba32f, 16},
                                                         {ImageFormat::kRgba8, 4}};
  for (const auto& [format, texel] : formats) {
    for (const compute::ImageShape& shape :
         {compute::ImageShape{1, {37, 1, 1}, format}, compute::ImageShape{2, {5, 9, 1}, format},
          compute::ImageShape{3, {3, 4, 5}, format}}) {
      auto image = must(compute::Image::create(*device(), shape));
      const std::size_t count = std::size_t{shape.size.x} * shape.size.y * shape.size.z;
      REQUIRE(image.bytes() == count * texel);
      std::vector<std::byte> texels(image.bytes()), back(image.bytes());
      // Below 0x3c in each byte: numbers in every format.
      for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = std::byte(i * 7 % 0x3c);
      must(image.write(texels));
      must(image.read(back));
      CHECK(back == texels);
      CHECK_FALSE(image.write(std::span(texels).first(texels.size() - 1)));
    }
  }
  // Bytes of a picture behind a sampler, and a storage image of three dimensions.
  const auto words = compile(R"(#version 450
layout(binding = 0) uniform sampler2D picture;
layout(binding = 1, r32f) writeonly uniform image3D result;
void main() {
  ivec3 at = ivec3(gl_GlobalInvocationID);
  imageStore(result, at, vec4(texelFetch(picture, at.xy, 0)[at.z] * 255.0));
}
)",
                             fp32());
  auto picture = must(compute::Image::create(*device(), {2, {6, 5, 1}, ImageFormat::kRgba8}));
  const auto result = must(compute::Image::create(*device(), {3, {6, 5, 4}, ImageFormat::kR32f}));
  std::vector<std::uint8_t> pixels(6 * 5 * 4);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 2);
  must(picture.write(std::as_bytes(std::span(pixels))));
  must(compute::run(must(Kernel::create(*device(), words, {})),
                    {.bindings = {{0, picture}, {1, result}}, .groups = {6, 5, 4}}));
  std::vector<float> got(pixels.size());
  must(result.read(std::as_writable_bytes(std::span(got))));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t z = i / 30, xy = i % 30;
    CHECK(std::abs(got[i] - pixels[xy * 4 + z]) < 1e-3f);
  }
}

TEST_CASE("memory of each kind is written and read", "[buffers]") {
  for (const auto memory :
       {compute::Memory::kDevice, compute::Memory::kUpload, compute::Memory::kDownload}) {
    auto buffer = must(compute::Buffer::create(*device(), 103, memory));
    CHECK(buffer.bytes() == 103);
    std::vector<std::byte> bytes(103), part(5);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i);
    must(buffer.write(bytes));
    must(buffer.write(std::span(bytes).first(3), 100));
    must(buffer.read(part, 98));
    CHECK(part ==
          std::vector{std::byte{98}, std::byte{99}, std::byte{0}, std::byte{1}, std::byte{2}});
    CHECK_FALSE(buffer.write(bytes, 1));
    CHECK_FALSE(buffer.read(part, 99));
    CHECK_FALSE(buffer.read(part, ~std::uint64_t{0}));
  }
  const auto none = compute::Buffer::create(*device(), 0);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("optimal local sizes are what the rule says", "[words]") {
  struct Row {
    Extent invocations, size;
  };
  for (const Row& row :
       {Row{{1, 1, 1}, {1, 1, 1}}, Row{{1000, 1, 1}, {64, 1, 1}}, Row{{3, 1000, 1}, {4, 16, 1}},
        Row{{5, 2, 100}, {8, 2, 4}}, Row{{1u << 17, 1, 1}, {64, 1, 1}}}) {
    CHECK(compute::optimal_local_size(*device(), row.invocations) == row.size);
  }
  // Of the largest jobs, on every device: 256, or what it allows.
  const Extent large = compute::optimal_local_size(*device(), {1u << 31, 1u << 31, 1u << 31});
  CHECK((large.x >= 128 && large.x <= 256 && large.y == 1 && large.z == 1));
}
