// SPDX-License-Identifier: Apache-2.0
// What is no function of one lane: the lanes that a scalar store into an image leaves, activations,
// and the variant that this compiler or device may not know.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "skipped.hpp"
#include "variants.hpp"
#include "vulkan_run.hpp"

using namespace spirkiln;
using namespace spirkiln::test;

namespace {

Job job_of(const Variant& v, const std::string& text, std::vector<Binding> bindings) {
  Job job;
  job.name = v.title();
  job.words = compile_for(v, text, "kernel.comp");
  job.bindings = std::move(bindings);
  return job;
}

void run(std::vector<Job>* jobs) {
  std::erase_if(*jobs, [](const Job& job) {
    const auto missing = lacks(device()->state()->caps, job.words);
    if (missing) skipped()[job.name] = *missing;
    return missing.has_value();
  });
  const Status status = run_jobs(*device(), *jobs);
  if (!status) FAIL(status.error().message);
}

// In double precision, by the definitions.
double activated(double x, int type, double a, double b) {
  switch (type) {
    case 1:
      return std::max(x, 0.0);
    case 2:
      return x > 0 ? x : x * a;
    case 3:
      return std::min(std::max(x, a), b);
    case 4:
      return 1 / (1 + std::exp(-x));
    case 5:
      return x * std::tanh(std::log1p(std::exp(x)));
    case 6:
      return x * std::min(std::max(x * a + b, 0.0), 1.0);
    default:
      return x;
  }
}

}  // namespace

TEST_CASE("a scalar stored into an image of four lanes leaves 0 in the others", "[dialect]") {
  std::vector<Job> jobs;
  std::vector<Codec> codecs;
  for (const Variant& v : variants()) {
    if (!v.on_images()) continue;
    for (const char* dims : {"1", "2", "3"}) {
      const std::string d = dims;
      const std::string position = d == "1" ? "i" : d == "2" ? "ivec2(i, 0)" : "ivec3(i, 0, 0)";
      const std::string text =
          "#version 450\nlayout(local_size_x = 64) in;\n"
          "layout(binding = 0, imfmtc4) writeonly uniform unfp image" +
          d + "D dst;\nvoid main() {\n  int i = int(gl_GlobalInvocationID.x);\n" + "  image" + d +
          "d_st1(dst, " + position + ", afp(float(i)));\n}\n";
      ImageShape shape{
          .dims = static_cast<std::uint32_t>(d[0] - '0'), .half = v.image4 == Codec::kF16, .w = 64};
      codecs.push_back(v.image4);
      const std::vector<std::byte> before(64 * 4 * bytes_of(v.image4), std::byte{0x3c});
      jobs.push_back(job_of(v, text, {{before, shape}}));
    }
  }
  const std::size_t all = jobs.size();
  run(&jobs);
  if (jobs.size() != all) return;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    INFO(jobs[j].name);
    std::vector<std::uint32_t> want(64 * 4);
    for (std::uint32_t i = 0; i < 64; ++i) {
      const float value = static_cast<float>(i);
      want[i * 4] =
          codecs[j] == Codec::kF32 ? std::bit_cast<std::uint32_t>(value) : narrow_half(value);
    }
    CHECK(unpack_lanes(codecs[j], jobs[j].bindings[0].bytes) == want);
  }
}

TEST_CASE("activations of every type", "[dialect]") {
  constexpr int kTypes = 7;
  constexpr std::uint32_t kVectors = 512;
  std::vector<float> in;
  for (std::uint32_t i = 0; i < kVectors * 4; ++i) {
    in.push_back(static_cast<float>(static_cast<int>(i) - 1024) / 64);  // -16 to 16, halves all
  }
  const auto text_of = [](const Variant& v) {
    const std::string lines = R"(
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { vec4 src[]; };
layout(binding = 1) writeonly buffer B { vec4 dst[]; };
void main() {
  int i = int(gl_GlobalInvocationID.x), type = int(gl_WorkGroupID.y);
  afpvec4 v = afpvec4(src[i]);
  float a = type == 6 ? 0.25 : type == 3 ? -2.0 : 0.125;
  float b = type == 6 ? 0.5 : 3.0;
  afpvec4 r = activation_afpvec4(v, type, a, b);
  r.y = activation_afp(v.y, type, a, b);
)";
    const std::string eight =
        v.is_2026() ? "" : "  r.zw = activation_afpvec8(afpvec8(v, v), type, a, b)[1].zw;\n";
    return "#version 450\n#include \"vulkan_activation.comp\"" + lines + eight +
           "  dst[type * 512 + i] = vec4(r);\n}\n";
  };
  std::vector<std::uint32_t> bits;
  for (const float f : in) bits.push_back(std::bit_cast<std::uint32_t>(f));
  std::vector<Job> jobs;
  std::vector<bool> half;
  for (const Variant& v : variants()) {
    if (v.on_images()) continue;
    jobs.push_back(job_of(v, text_of(v),
                          {{pack_lanes(Codec::kF32, bits), {}},
                           {std::vector<std::byte>(std::size_t{kTypes} * kVectors * 16), {}}}));
    jobs.back().groups = {kVectors / 64, kTypes, 1};
    half.push_back(v.half_arithmetic);
  }
  const std::size_t all = jobs.size();
  run(&jobs);
  if (jobs.size() != all) return;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto out = unpack_lanes(Codec::kF32, jobs[j].bindings[1].bytes);
    for (int type = 0; type < kTypes; ++type) {
      const double a = type == 6 ? 0.25 : type == 3 ? -2.0 : 0.125, b = type == 6 ? 0.5 : 3.0;
      double worst = 0;
      for (std::size_t i = 0; i < in.size(); ++i) {
        const double want = activated(in[i], type, a, b);
        const double got =
            std::bit_cast<float>(out[static_cast<std::size_t>(type) * in.size() + i]);
        worst = std::max(worst, std::abs(got - want) / (std::abs(want) + 0x1p-14));
      }
      INFO(jobs[j].name << ", type " << type << ": relative error " << worst);
      // Vulkan's exp may be 3 + 2 |x| ulp off: 35 of 2^-23 here, and there are a few steps behind
      // it.
      CHECK(worst <= (half[j] ? 0x1p-10 : type <= 3 ? 0x1p-23 : 100 * 0x1p-23));
    }
  }
}

TEST_CASE("bf16s, where compiler and device know bfloat16", "[dialect]") {
  Option option;
  option.profile = "ncnn-2026";
  option.use_bf16_storage = true;
  option.use_int8_storage = option.use_int8_packed = option.use_int8_arithmetic = false;
  const Compiled compiled =
      try_compile(option,
                  "#version 450\nlayout(binding = 0) buffer A { sfpvec4 a[]; };\n"
                  "void main() { buffer_st4(a, 0, buffer_ld4(a, 1)); }\n",
                  "bf16s.comp");
  if (compiled.words.empty()) {
    CHECK(compiled.said.find("GL_EXT_bfloat16") != std::string::npos);
    skipped()["ncnn-2026 bf16s"] = compiled.said.substr(0, compiled.said.find('\n'));
  } else if (!device()->state()->caps.extensions.contains("VK_KHR_shader_bfloat16")) {
    skipped()["ncnn-2026 bf16s"] = "compiled; the device lacks VK_KHR_shader_bfloat16";
  } else {
    skipped()["ncnn-2026 bf16s"] = "compiled; the loader does not enable bfloat16 yet";
  }
}
