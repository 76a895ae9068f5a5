// SPDX-License-Identifier: Apache-2.0
// psc: constants and push constants give the same results.
#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>

#include "skipped.hpp"
#include "variants.hpp"
#include "vulkan_run.hpp"

using namespace spirkiln;
using namespace spirkiln::test;

namespace {

// A shape that is walked over, and two numbers of other types.
constexpr const char* kKernel = R"(#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const int w = 0;
layout(constant_id = 1) const int h = 0;
layout(constant_id = 2) const float factor = 0;
layout(constant_id = 3) const uint step = 0;
layout(push_constant) uniform parameter {
  int w;
  int h;
  float factor;
  uint step;
} p;
layout(binding = 0) readonly buffer A { sfp a[]; };
layout(binding = 1) writeonly buffer B { uint b[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  float sum = float(psc(w) * psc(h));
  for (int y = 0; y < psc(h); ++y) {
    for (int x = 0; x < psc(w); ++x) {
      sum += float(buffer_ld1(a, (i + uint(y * psc(w) + x) * psc(step)) & 63u)) * psc(factor);
    }
  }
  b[i] = floatBitsToUint(sum);
}
)";

struct Numbers {
  std::uint32_t w, h;
  float factor;
  std::uint32_t step;
};

// `given`: bit k says that the k-th number is a specialization constant. What is one is 0 among the
// push constants, or what `elsewhere` says where the constant is not 0: it must not be looked at.
Job job_of(const Variant& v, const std::vector<std::uint32_t>& words, const Numbers& n,
           unsigned given, std::uint32_t elsewhere) {
  const std::array<std::uint32_t, 4> bits = {n.w, n.h, std::bit_cast<std::uint32_t>(n.factor),
                                             n.step};
  Job job;
  job.name = v.title() + ": psc";
  job.words = words;
  std::vector<std::uint32_t> lanes(64);
  for (std::uint32_t i = 0; i < 64; ++i) {
    const float value = static_cast<float>(i % 9) - 2;
    lanes[i] = v.scalar == Codec::kF32 ? std::bit_cast<std::uint32_t>(value) : narrow_half(value);
  }
  job.bindings = {{pack_lanes(v.scalar, lanes), {}}, {std::vector<std::byte>(64 * 4), {}}};
  for (std::uint32_t k = 0; k < 4; ++k) {
    const bool constant = (given >> k & 1) != 0;
    if (constant) job.specs.emplace_back(k, bits[k]);
    job.push.push_back(constant ? (bits[k] != 0 ? elsewhere : 0) : bits[k]);
  }
  return job;
}

// Small whole numbers: every sum is exact.
std::vector<std::uint32_t> expected(const Numbers& n) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < 64; ++i) {
    float sum = static_cast<float>(n.w * n.h);
    for (std::uint32_t k = 0; k < n.w * n.h; ++k) {
      sum += (static_cast<float>(((i + k * n.step) & 63) % 9) - 2) * n.factor;
    }
    all.push_back(std::bit_cast<std::uint32_t>(sum));
  }
  return all;
}

}  // namespace

TEST_CASE("psc: constants and push constants give the same", "[dialect]") {
  const std::vector<Numbers> shapes = {{7, 5, 2.0f, 3}, {1, 1, 1.0f, 1}, {0, 5, 2.0f, 3},
                                       {7, 0, 2.0f, 3}, {0, 0, 0.0f, 0}, {9, 4, 0.0f, 1},
                                       {3, 3, -0.5f, 0}};
  for (const Variant& v : variants()) {
    if (v.title() != "ncnn-2023 fp32" && v.title() != "ncnn-2026 fp16sa") continue;
    const auto words = compile_for(v, kKernel, "psc.comp");
    if (const auto missing = lacks(device()->state()->caps, words)) {
      skipped()[v.title() + ": psc"] = *missing;
      continue;
    }
    std::vector<Job> jobs;
    std::vector<Numbers> of;
    for (const Numbers& n : shapes) {
      for (const auto& [given, elsewhere] : {std::pair{0u, 0u}, {15u, 0x3fu}, {10u, 0u}}) {
        jobs.push_back(job_of(v, words, n, given, elsewhere));
        of.push_back(n);
      }
    }
    const Status status = run_jobs(*device(), jobs);
    if (!status) FAIL(status.error().message);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      INFO(v.title() << " " << of[j].w << " x " << of[j].h << ", " << jobs[j].specs.size()
                     << " constants");
      CHECK(unpack_lanes(Codec::kF32, jobs[j].bindings[1].bytes) == expected(of[j]));
    }
  }
}

TEST_CASE("psc: a constant of 0 says nothing, so the push constant decides", "[dialect]") {
  const Variant& v = variants().front();
  const Numbers n{3, 2, 1.0f, 1};
  Job job = job_of(v, compile_for(v, kKernel, "psc.comp"), n, 0, 0);
  job.specs = {{0, 0}, {1, 0}, {2, 0}, {3, 0}};
  const Status status = run_jobs(*device(), {&job, 1});
  if (!status) FAIL(status.error().message);
  CHECK(unpack_lanes(Codec::kF32, job.bindings[1].bytes) == expected(n));
}
