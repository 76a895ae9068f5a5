// SPDX-License-Identifier: Apache-2.0
// Kernels are instrumented and run; offsets, counts and results are those that the GLSL says.
#include <unistd.h>
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "instrument.hpp"
#include "look.hpp"
#include "second_compiler.hpp"
#include "specialise.hpp"
#include "spirv_tools.hpp"
#include "subject.hpp"

namespace spirkiln::access {
namespace {

namespace fs = std::filesystem;
using Catch::Approx;

const Device& device() {
  static const Device opened = [] {
    DeviceOptions options;
    options.validation = std::getenv("SPIRKILN_TEST_NO_VALIDATION") == nullptr;
    options.message = [](Severity severity, std::string_view text) {
      if (severity != Severity::kInfo)
        std::fprintf(stderr, "%.*s\n", int(text.size()), text.data());
    };
    auto device = open_device(options, Error{ErrorCode::kInvalidArgument, "no table"});
    if (!device) {
      std::fprintf(stderr, "%s\n", device.error().message.c_str());
      std::abort();
    }
    return *std::move(device);
  }();
  return opened;
}

Subject example(const std::string& kernel, const std::string& variant = "") {
  SubjectRequest request;
  request.kernel = kernel;
  request.variant = variant;
  request.glsl = SPIRKILN_SOURCE_ROOT "/glsl";
  request.manifests = usual_manifests(request.glsl);
  auto subject = load_subject(request);
  if (!subject) FAIL(subject.error().message);
  return *std::move(subject);
}

Subject text(const std::string& glsl, const std::string& variant = "fp32") {
  const fs::path file =
      fs::temp_directory_path() / ("access_" + std::to_string(getpid()) + ".comp");
  std::ofstream(file) << glsl;
  SubjectRequest request;
  request.kernel = file.string();
  request.variant = variant;
  request.glsl = SPIRKILN_SOURCE_ROOT "/glsl";
  request.second = gen::second_folder("");
  auto subject = load_subject(request);
  fs::remove(file);
  if (!subject) FAIL(subject.error().message);
  return *std::move(subject);
}

Report look(const Subject& subject, const DispatchRequest& request) {
  bool hung = false;
  auto report = look_at(subject, request, MemoryShape{}, {}, device(), &hung);
  if (!report) FAIL(report.error().message);
  CHECK(device().validation_message_count() == 0);
  return *std::move(report);
}

const SiteFigures& site(const Report& r, const std::string& name, Access access) {
  for (const SiteFigures& f : r.figures.sites) {
    if (f.site.name == name && f.site.access == access) return f;
  }
  FAIL("no access of '" << name << "'");
  std::abort();
}

// A matrix of 64 x 64, turned by `kernel`: what it gives, by the module as it is and instrumented.
std::vector<float> turned(const Subject& subject, std::array<std::uint32_t, 3> groups,
                          bool traced) {
  constexpr std::uint32_t kSize = 64;
  std::vector<std::uint32_t> words = subject.words;
  std::optional<TraceRequest> trace;
  if (traced) {
    auto i = instrument(subject.words);
    REQUIRE(i.ok());
    words = i->words;
    trace.emplace().set = i->trace_set;
    trace->capacity = 1 << 16;
  }
  RunRequest request{words, subject.reflection.bindings};
  request.push = {kSize, kSize};
  request.groups = groups;
  request.extents.buffers = {{0, kSize * kSize * 4}, {1, kSize * kSize * 4}};
  request.trace = trace;
  bool hung = false;
  auto result = run_kernel(device(), request, &hung);
  if (!result) FAIL(result.error().message);
  std::vector<float> in(kSize * kSize), out(kSize * kSize);
  std::memcpy(in.data(), result->buffers[0].data(), in.size() * 4);
  std::memcpy(out.data(), result->buffers[1].data(), out.size() * 4);
  std::vector<float> wrong;  // where out is not in, turned
  for (std::uint32_t y = 0; y < kSize; ++y) {
    for (std::uint32_t x = 0; x < kSize; ++x) {
      if (out[y * kSize + x] != in[x * kSize + y]) wrong.push_back(out[y * kSize + x]);
    }
  }
  return wrong;
}

TEST_CASE("A naive transpose: four sectors a warp on one side, 32 on the other") {
  DispatchRequest request;
  request.groups = {4, 16, 1};
  request.values = {{"width", "128"}, {"height", "128"}};
  request.buffers = {{0, 128 * 128 * 4}, {1, 128 * 128 * 4}};
  const Report r = look(example("transpose_naive"), request);
  const auto& load = site(r, "in_data", Access::kLoad);
  const auto& store = site(r, "out_data", Access::kStore);
  CHECK(load.accesses == 128 * 128);
  CHECK(load.requests == 128 * 4);
  CHECK(load.sectors == load.requests * 32);
  CHECK(load.stride == 128 * 4);
  CHECK(store.sectors == store.requests * 4);
  CHECK(store.pattern == Pattern::kSequential);
  CHECK(load.site.file.ends_with("transpose_naive.comp"));
  CHECK(r.texts[0].find("buffer_cp1(out_data") == 0);
  CHECK(r.untraced.empty());
  CHECK(r.figures.lost == 0);
  // With ROWS it is the other way round.
  const Report rows = look(example("transpose_naive", "fp32_rows"), request);
  CHECK(site(rows, "in_data", Access::kLoad).sectors == load.requests * 4);
  CHECK(site(rows, "out_data", Access::kStore).sectors == load.requests * 32);
}

TEST_CASE("A tiled transpose: rows on both sides, and its padding keeps the banks apart") {
  DispatchRequest request;
  request.groups = {4, 4, 1};
  request.values = {{"width", "128"}, {"height", "128"}};
  request.buffers = {{0, 128 * 128 * 4}, {1, 128 * 128 * 4}};
  const Report padded = look(example("transpose_tiled"), request);
  const Report plain = look(example("transpose_tiled", "fp32_padding0"), request);
  for (const Report* r : {&padded, &plain}) {
    CHECK(site(*r, "in_data", Access::kLoad).sectors == 512 * 4);
    CHECK(site(*r, "out_data", Access::kStore).sectors == 512 * 4);
    CHECK(site(*r, "tile", Access::kStore).worst_conflict == 1);
  }
  CHECK(site(padded, "tile", Access::kLoad).worst_conflict == 1);
  CHECK(site(plain, "tile", Access::kLoad).worst_conflict == 32);
  CHECK(site(plain, "tile", Access::kLoad).mean_conflict == Approx(32));
  CHECK(padded.advice.empty());
  REQUIRE(plain.advice.size() == 1);
  CHECK(plain.advice[0].rule == "pad-row");
}

TEST_CASE("The tutorial's tiled transpose does not transpose, and stores columns; the others do") {
  const Subject seed = example("transpose_seed");
  CHECK_FALSE(turned(seed, {4, 4, 1}, false).empty());
  DispatchRequest request;
  request.groups = {4, 4, 1};
  request.values = {{"width", "64"}, {"height", "64"}};
  request.buffers = {{0, 64 * 64 * 4}, {1, 64 * 64 * 4}};
  const Report r = look(seed, request);
  const auto& store = site(r, "out_data", Access::kStore);
  // A warp is two rows of 16: 16 columns of two floats each.
  CHECK(store.pattern == Pattern::kStrided);
  CHECK(store.stride == 64 * 4);
  CHECK(store.sectors == store.requests * 16);
  CHECK(turned(example("transpose_tiled"), {2, 2, 1}, false).empty());
  CHECK(turned(example("transpose_tiled", "fp32_padding0"), {2, 2, 1}, false).empty());
  CHECK(turned(example("transpose_naive"), {2, 8, 1}, false).empty());
  CHECK(turned(example("transpose_naive", "fp32_rows"), {2, 8, 1}, false).empty());
}

TEST_CASE("An instrumented kernel computes what it did before") {
  CHECK(turned(example("transpose_tiled"), {2, 2, 1}, true).empty());
  CHECK(turned(example("transpose_naive"), {2, 8, 1}, true).empty());
}

TEST_CASE("A matrix product's flops and re-reads") {
  DispatchRequest request;
  request.groups = {2, 8, 1};
  request.values = {{"m", "64"}, {"n", "64"}, {"k", "64"}};
  request.buffers = {{0, 64 * 64 * 4}, {1, 64 * 64 * 4}, {2, 64 * 64 * 4}};
  const Report naive = look(example("matmul_naive"), request);
  request.groups = {4, 4, 1};
  const Report tiled = look(example("matmul_tiled"), request);
  // A product and a sum for each of 64^3.
  CHECK(naive.figures.flops == 2 * 64 * 64 * 64);
  CHECK(tiled.figures.flops == 2 * 64 * 64 * 64);
  const auto& a = site(naive, "a_data", Access::kLoad);
  CHECK(a.accesses == 64 * 64 * 64);
  CHECK(a.pattern == Pattern::kBroadcast);
  CHECK(site(naive, "b_data", Access::kLoad).pattern == Pattern::kSequential);
  CHECK(site(tiled, "a_data", Access::kLoad).accesses == 64 * 64 * 64 / 16);
}

TEST_CASE("Structures, strides and misalignment") {
  DispatchRequest request;
  request.groups = {4, 1, 1};
  request.values = {{"count", "256"}};
  const Report aos = look(example("vertices_aos"), request);
  CHECK(site(aos, "vertices", Access::kLoad).stride == 12);
  CHECK(site(aos, "vertices", Access::kLoad).sectors == 8 * 12);
  const Report soa = look(example("vertices_soa"), request);
  CHECK(site(soa, "x_coordinates", Access::kLoad).sectors == 8 * 4);
  request.values = {{"count", "256"}, {"stride", "1"}, {"offset", "3"}};
  const Report off = look(example("copy"), request);
  CHECK(site(off, "in_data", Access::kLoad).pattern == Pattern::kMisaligned);
  CHECK(site(off, "in_data", Access::kLoad).sectors == 8 * 5);
  request.values = {{"count", "256"}, {"stride", "8"}, {"offset", "0"}};
  CHECK(site(look(example("copy"), request), "in_data", Access::kLoad).sectors == 8 * 32);
}

TEST_CASE("Uniforms and textures are seen, too") {
  DispatchRequest request;
  request.groups = {4, 1, 1};
  request.values = {{"count", "256"}};
  const Report uniform = look(example("polynomial", "fp32_uniform"), request);
  const auto& c = site(uniform, "coefficients", Access::kLoad);
  CHECK(c.site.space == Space::kUniform);
  CHECK(c.pattern == Pattern::kBroadcast);
  CHECK(c.out_of_bounds == 0);
  request.groups = {2, 2, 1};
  request.values = {{"width", "32"}, {"height", "32"}};
  request.images[0] = {{64, 64, 1}, "r32f", true};
  const Report shrink = look(example("shrink", "fp32_texture"), request);
  const auto& t = site(shrink, "in_image", Access::kLoad);
  CHECK(t.site.space == Space::kSampled);
  CHECK(t.asked == 32 * 32 * 4 * 4);  // four texels each
  CHECK(shrink.untraced.empty());
}

TEST_CASE("Offsets of nested types, of halves, of atomics and of images") {
  const Subject s = text(R"(#version 450
layout(local_size_x = 1) in;
struct Inner { vec3 v; float w; mat2x3 m; };
layout(binding = 0, std430) buffer a_blob { uint head; Inner inner[]; } a;
layout(binding = 1, r32f) uniform image2D picture;
layout(binding = 2, std140, row_major) uniform u_blob { mat3 turn; } u;
shared uint sums[4];
void main() {
  sums[1] = 5u;
  a.inner[2].w = u.turn[1][2];
  a.inner[1].m[1].y = 2.0;
  atomicAdd(a.head, sums[1]);
  imageStore(picture, ivec2(3, 5), vec4(a.inner[0].v.z));
}
)");
  const auto traced = instrument(s.words);
  REQUIRE(traced.ok());
  REQUIRE(gen::validate(traced->words, gen::kTargets[0]).ok());
  RunRequest run{traced->words, s.reflection.bindings};
  run.extents.buffers = {{0, 4096}, {2, 256}};
  run.extents.images[1] = {16, 16, 1, 4, false};
  run.formats[1] = VK_FORMAT_R32_SFLOAT;
  run.dimensions[1] = VK_IMAGE_TYPE_2D;
  run.trace.emplace().set = traced->trace_set;
  bool hung = false;
  const auto result = run_kernel(device(), run, &hung);
  REQUIRE(result.ok());
  // std430: inner begins at 16, is 16 + 32 bytes long, its matrix' columns are 16 apart.
  const auto seen = [&](const std::string& name, Access access, std::uint32_t a, std::uint32_t b) {
    for (const Record& r : result->trace.records) {
      const Site& site = traced->sites[r.site()];
      if (site.name == name && site.access == access && r.a == a && r.b == b) return true;
    }
    return false;
  };
  CHECK(seen("a", Access::kStore, 16 + 2 * 48 + 12, 0));
  CHECK(seen("a", Access::kStore, 16 + 1 * 48 + 16 + 16 + 4, 0));
  CHECK(seen("a", Access::kAtomic, 0, 0));
  CHECK(seen("a", Access::kLoad, 16 + 8, 0));
  CHECK(seen("u", Access::kLoad, 2 * 16 + 1 * 4, 0));  // row 2, column 1
  CHECK(seen("sums", Access::kStore, 4, 0));
  CHECK(seen("picture", Access::kStore, 3, 5));
}

TEST_CASE("A store is at its own line, though a constant says how long its array is") {
  const Subject s = text(R"(#version 450
layout(local_size_x = 32) in;
layout(binding = 0) writeonly buffer out_blob { float out_data[]; };
layout(constant_id = 0) const uint n = 32;
shared float tile[n * 2];
float twice(uint i) {
  return tile[i] + tile[i];
}
void main() {
  uint i = gl_LocalInvocationID.x;
  tile[i] = 1.0;
  barrier();
  out_data[i] = twice(31 - i);
}
)");
  DispatchRequest request;
  const Report r = look(s, request);
  CHECK(site(r, "tile", Access::kStore).site.line == 11);
  CHECK(site(r, "tile", Access::kLoad).site.line == 7);  // above main, and inlined there
  CHECK(site(r, "out_data", Access::kStore).site.line == 13);
}

// Matrices of 16 x 16 and 16 x 8 halves and of 16 x 8 floats: from workgroup memory through a type
// of four halves, rows of a buffer, and columns of another.
constexpr const char* kMatrices = R"(#version 450
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer b_blob { float16_t b_data[]; };
layout(binding = 1) buffer c_blob { float c_data[]; };
layout(constant_id = 0) const uint pitch = 24;
shared uvec2 a_local[16 * pitch / 4 + 4];
void main() {
  for (uint i = gl_LocalInvocationID.x; i < 16 * pitch / 4; i += 32) a_local[i] = uvec2(i);
  barrier();
  coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
  coopmat<float16_t, gl_ScopeSubgroup, 16, 8, gl_MatrixUseB> b;
  coopmat<float, gl_ScopeSubgroup, 16, 8, gl_MatrixUseAccumulator> c =
      coopmat<float, gl_ScopeSubgroup, 16, 8, gl_MatrixUseAccumulator>(0.0);
  coopMatLoad(a, a_local, 4, pitch / 4, gl_CooperativeMatrixLayoutRowMajor);
  coopMatLoad(b, b_data, gl_WorkGroupID.x * 8, 64, gl_CooperativeMatrixLayoutRowMajor);
  c = coopMatMulAdd(a, b, c);
  coopMatStore(c, c_data, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
}
)";

TEST_CASE("Cooperative matrices are traced by line") {
  if (!gen::second_folder("")) SKIP("no second compiler (scripts/fetch-glslc.sh)");
  const Subject s = text(kMatrices);
  REQUIRE(s.tools != nullptr);
  const auto words = specialise(s.words, {{0, 40}}, s.tools.get());
  REQUIRE(words.ok());
  const auto traced = instrument(*words);
  REQUIRE(traced.ok());
  CHECK(traced->untraced.empty());
  const Status valid = s.tools->validate(traced->words, target_of(s.words[1]));
  if (!valid) FAIL(valid.error().message);
  const auto site = [&](const std::string& name, Access access) {
    for (const Site& i : traced->sites) {
      if (i.name == name && i.access == access && i.matrix_lines != 0) return i;
    }
    FAIL("no matrix of '" << name << "'");
    std::abort();
  };
  const Site a = site("a_local", Access::kLoad);
  CHECK(a.space == Space::kShared);
  CHECK(a.matrix_lines == 16);
  CHECK(a.matrix_line_bytes == 32);
  CHECK(a.resource_bytes == (16 * 40 / 4 + 4) * 8);  // by the constant that was set
  CHECK(a.line == 17);
  const Site b = site("b_data", Access::kLoad);
  CHECK(b.matrix_lines == 16);
  CHECK(b.matrix_line_bytes == 16);
  const Site c = site("c_data", Access::kStore);  // columns
  CHECK(c.matrix_lines == 8);
  CHECK(c.matrix_line_bytes == 64);

  DispatchRequest request;
  request.groups = {2, 1, 1};
  request.values = {{"pitch", "40"}};
  if (!device().state()->caps.cooperative_matrix) {
    bool hung = false;
    const auto report = look_at(s, request, MemoryShape{}, {}, device(), &hung);
    REQUIRE_FALSE(report.ok());
    CHECK(report.error().message.find("VK_KHR_cooperative_matrix") != std::string::npos);
    return;
  }
  const Report r = look(s, request);
  // Two groups. Lines of 32 bytes 80 apart: no two of eight meet in a bank.
  CHECK(access::site(r, "a_local", Access::kLoad).stride == 80);
  CHECK(access::site(r, "a_local", Access::kLoad).mean_conflict == Approx(1));
  // Half a sector for each of 16 lines, 128 bytes apart.
  CHECK(access::site(r, "b_data", Access::kLoad).sectors == 2 * 16);
  CHECK(access::site(r, "b_data", Access::kLoad).asked == 2 * 256);
  CHECK(access::site(r, "c_data", Access::kStore).sectors == 2 * 16);
  CHECK(r.figures.flops == 2 * 2 * 16 * 8 * 16);
}

TEST_CASE("A trace that does not fit says how much was kept; samples are of whole groups") {
  DispatchRequest request;
  request.groups = {16, 1, 1};
  request.values = {{"count", "4096"}, {"stride", "1"}, {"offset", "0"}};
  request.records = 100;
  const Report r = look(example("copy"), request);
  CHECK(r.figures.records == 100);
  CHECK(r.figures.lost == 8192 - 100);
  CHECK(report_text(r).find("NOT ALL KEPT: 100 of 8192") != std::string::npos);
  request.records = 1 << 16;
  request.sample = 4;
  const Report sampled = look(example("copy"), request);
  CHECK(sampled.figures.lost == 0);
  CHECK(sampled.figures.traced_groups == 4);
  CHECK(sampled.figures.records == 4 * 256 * 2);
  CHECK(sampled.figures.scale() == Approx(4));
}

TEST_CASE("Push constants that nobody gave are told, and so is a dispatch that did nothing") {
  DispatchRequest request;
  const auto has = [](const Report& r, const std::string& part) {
    return std::any_of(r.notes.begin(), r.notes.end(),
                       [&](const std::string& n) { return n.find(part) != std::string::npos; });
  };
  // copy reads nothing beyond its count of elements.
  const Subject copy = example("copy");
  Report r = look(copy, request);
  CHECK(has(r, "nobody gave, which are 0: count, stride, offset; --set NAME=VALUE"));
  CHECK(r.warning.find("no access was executed") == 0);
  CHECK(r.warning.find("give count, stride, offset with --set") != std::string::npos);
  CHECK(report_text(r).find("NOTHING SEEN: no access was executed") != std::string::npos);
  CHECK(report_text(r).find("efficiency") == std::string::npos);
  CHECK(report_text(r).find("load buffer 'in_data': not executed\n") != std::string::npos);
  CHECK(report_json(r).find("\"warning\": \"no access was executed") != std::string::npos);
  CHECK(report_json(r).find("\"efficiency\": null") != std::string::npos);
  CHECK(report_html(r).find("<b>nothing seen</b> no access was executed") != std::string::npos);
  request.values = {{"count", "256"}};
  r = look(copy, request);
  CHECK(has(r, "nobody gave, which are 0: stride, offset; --set NAME=VALUE"));
  CHECK(r.warning.empty());
  CHECK(report_json(r).find("\"warning\": null") != std::string::npos);
  request.values = {{"count", "256"}, {"stride", "1"}, {"offset", "0"}};
  r = look(copy, request);
  CHECK_FALSE(has(r, "nobody gave, which"));
  // By number all of them are given, as a plan gives them.
  request.values.clear();
  request.push = {256, 1, 0};
  CHECK_FALSE(has(look(copy, request), "nobody gave, which"));
  // Given, but 0; and a group that was not traced.
  request.push = {0, 1, 0};
  CHECK(look(copy, request).warning.find("--groups") != std::string::npos);
  request.groups = {4, 1, 1};
  request.sample = 1;
  CHECK(look(copy, request).warning.find("by the groups traced") != std::string::npos);
  // What --set cannot write, and a kernel that touches no memory.
  const Subject odd = text(R"(#version 450
layout(local_size_x = 32) in;
layout(push_constant) uniform p { mat2 turn; uint n; };
layout(binding = 0) buffer b { float v[]; };
void main() { if (n > 0u) v[gl_GlobalInvocationID.x] = turn[0][1]; }
)");
  r = look(odd, {});
  CHECK(has(r, "cannot write (no numbers of 32 bits), which are 0: turn"));
  CHECK(has(r, "nobody gave, which are 0: n; "));
  bool hung = false;
  DispatchRequest turned;
  turned.values = {{"turn", "1"}};
  const auto refused = look_at(odd, turned, MemoryShape{}, {}, device(), &hung);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("--set turn: only numbers of 32 bits") != std::string::npos);
  const Subject idle = text("#version 450\nlayout(local_size_x = 32) in;\nvoid main() {}\n");
  CHECK(look(idle, {}).warning.find("has no access that is traced") != std::string::npos);
}

TEST_CASE("Times are predicted from rates, and without them there are none") {
  DispatchRequest request;
  request.values = {{"count", "256"}, {"stride", "1"}};
  const Subject copy = example("copy");
  const Report r = look(copy, request);
  CHECK(report_json(r).find("\"predicted_us\": null") != std::string::npos);
  CHECK(report_text(r).find("predicted") == std::string::npos);
  CHECK(report_html(r).find("predicted") == std::string::npos);
  bool hung = false;
  // 10^9 bytes a second: 256 floats read and written are 2048 bytes of lines and of the cache.
  const auto timed = look_at(copy, request, MemoryShape{}, {1, 1, 1, 1e6}, device(), &hung);
  REQUIRE(timed.ok());
  CHECK(report_json(*timed).find(
            "\"predicted_us\": {\"lines\": 2.048, \"cache\": 2.048, \"memory\": 0.000}") !=
        std::string::npos);
  CHECK(report_text(*timed).find("predicted: 2.0 us") != std::string::npos);
}

TEST_CASE("The page's table has what the text has") {
  DispatchRequest request;
  request.groups = {2, 8, 1};
  request.values = {{"width", "64"}, {"height", "64"}};
  request.buffers = {{0, 64 * 64 * 4}, {1, 64 * 64 * 4}};
  const std::string page = report_html(look(example("transpose_naive"), request));
  CHECK(
      page.find("<th>asked</th><th>moved</th><th>at best</th><th>again</th><th>efficiency</th>") !=
      std::string::npos);
  // 4096 floats: a sector each on one side, of which the other seven floats ask again.
  CHECK(page.find("<td>16384</td><td>131072</td><td>16384</td><td>87.5 %</td><td>12.5 %</td>") !=
        std::string::npos);
  CHECK(page.find("<td>16384</td><td>16384</td><td>16384</td><td>0.0 %</td><td>100.0 %</td>") !=
        std::string::npos);
  // Half of the buffer: what lies behind it is no part of the figures.
  request.buffers = {{0, 64 * 64 * 2}, {1, 64 * 64 * 2}};
  const Report half = look(example("transpose_naive"), request);
  const auto& store = site(half, "out_data", Access::kStore);
  CHECK(store.out_of_bounds == 2048);
  CHECK(store.asked == 8192);
  CHECK(store.efficiency(MemoryShape{}) == Approx(1));
  CHECK(report_html(half).find("<b>2048 out of bounds</b>") != std::string::npos);
  // Nothing inside: there is no efficiency to tell.
  request.buffers = {{0, 64 * 64 * 4}, {1, 1}};
  const Report none = look(example("transpose_naive"), request);
  CHECK(report_text(none).find("store buffer 'out_data': none in bounds, 4096 accesses in 128 "
                               "requests, 0 bytes asked, 4096 OUT OF BOUNDS") != std::string::npos);
}

TEST_CASE("Wrong names and sizes are told with the nearest") {
  const auto error_of = [](const std::string& kernel, const std::string& variant) {
    SubjectRequest request;
    request.kernel = kernel;
    request.variant = variant;
    request.glsl = SPIRKILN_SOURCE_ROOT "/glsl";
    request.manifests = usual_manifests(request.glsl);
    const auto subject = load_subject(request);
    return subject ? std::string() : subject.error().message;
  };
  CHECK(error_of("transpose_niave", "").find("nearest is 'transpose_naive'") != std::string::npos);
  CHECK(error_of("gemm_nc", "fp16z").find("nearest is 'gemm_nc_fp16") != std::string::npos);
  const Subject copy = example("copy");
  bool hung = false;
  const auto told = [&](const DispatchRequest& request) {
    const auto report = look_at(copy, request, MemoryShape{}, {}, device(), &hung);
    return report ? std::string() : report.error().message;
  };
  DispatchRequest request;
  request.values = {{"cuont", "1"}};
  CHECK(told(request).find("nearest is 'count'") != std::string::npos);
  request.values = {{"count", "99999999999"}};
  CHECK(told(request).find("--set count") != std::string::npos);
  request.values = {{"count", "1e3"}};
  CHECK(told(request).find("--set count: expected a whole number of 32 bits, without a point or an "
                           "exponent, got '1e3'") != std::string::npos);
  request.values = {{"count", "1,2"}};
  CHECK(told(request).find("--set count: expected 1 number, got 2 in '1,2'") != std::string::npos);
  request.values = {{"count", ""}};
  CHECK(told(request).find("got ''") != std::string::npos);
  const Subject typed = text(R"(#version 450
layout(local_size_x = 32) in;
layout(constant_id = 0) const float scale = 1;
layout(constant_id = 1) const bool twice = false;
layout(binding = 0) buffer b { float v[]; };
void main() { v[gl_GlobalInvocationID.x] = twice ? 2 * scale : scale; }
)");
  const auto told_of = [&](const char* name, const char* value) {
    DispatchRequest one;
    one.values = {{name, value}};
    const auto report = look_at(typed, one, MemoryShape{}, {}, device(), &hung);
    return report ? std::string("fine") : report.error().message;
  };
  CHECK(told_of("scale", "1e3") == "fine");
  CHECK(told_of("scale", "much") == "--set scale: expected a number, got 'much'");
  CHECK(told_of("twice", "true") == "fine");
  CHECK(told_of("twice", "2") == "--set twice: expected true or false, got '2'");
  request.values = {};
  request.buffers = {{7, 16}};
  CHECK(told(request).find("no such binding") != std::string::npos);
  request.buffers = {{0, std::uint64_t{1} << 60}};
  CHECK(told(request).find("the device binds") != std::string::npos);
  request.buffers = {};
  request.groups = {1, 1000000, 1};
  CHECK(told(request).find("groups along axis 1") != std::string::npos);
}

}  // namespace
}  // namespace spirkiln::access
