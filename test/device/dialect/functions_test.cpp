// SPDX-License-Identifier: Apache-2.0
// Every function in every variant, executed, and compared with the model bit for bit.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>

#include "functions.hpp"
#include "skipped.hpp"

using namespace spirkiln;
using namespace spirkiln::test;

namespace {

void compare(const Trial& t, const std::vector<std::uint32_t>& got) {
  std::size_t bad = 0, first = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool right = std::any_of(t.allowed.begin(), t.allowed.end(), [&](const auto& lanes) {
      return t.exact ? got[i] == lanes[i] : same_number(t.codec, got[i], lanes[i]);
    });
    if (right || !t.checked[i]) continue;
    if (bad++ == 0) first = i;
  }
  if (bad == 0) {
    SUCCEED();
    return;
  }
  FAIL_CHECK(t.job.name << ": " << std::dec << bad << " of " << got.size()
                        << " lanes are wrong, the first at " << first << std::hex << ": expected "
                        << t.allowed[0][first] << ", got " << got[first] << "\n"
                        << t.text);
}

// Returns how many kernels ran.
std::size_t run_all(std::vector<Trial> trials, const Variant& variant) {
  const Option option = option_of(variant);
  std::vector<Compiled> compiled(trials.size());
  in_parallel(trials.size(), [&](std::size_t i) {
    compiled[i] = try_compile(option, trials[i].text, "kernel.comp");
  });
  std::vector<Trial> kept;
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (compiled[i].words.empty()) {
      FAIL_CHECK(trials[i].job.name << ":\n" << compiled[i].said << trials[i].text);
      continue;
    }
    if (const auto missing = lacks(device()->state()->caps, compiled[i].words)) {
      skipped()[trials[i].job.name] = *missing;
      continue;
    }
    trials[i].job.words = std::move(compiled[i].words);
    jobs.push_back(trials[i].job);
    kept.push_back(std::move(trials[i]));
  }
  const Status status = run_jobs(*device(), jobs);
  if (!status) FAIL(status.error().message);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    compare(kept[i], unpack_lanes(kept[i].codec, jobs[i].bindings[1].bytes));
  }
  return jobs.size();
}

}  // namespace

TEST_CASE("functions of buffers and workgroup memory", "[dialect]") {
  std::size_t ran = 0;
  for (const Variant& v : variants()) {
    std::vector<Trial> trials;
    for (const Function& f : buffer_functions()) {
      if (exists(f, v)) trials.push_back(make_trial(f, v, 0, trials.size()));
    }
    ran += run_all(std::move(trials), v);
  }
  std::printf("buffer functions: %zu kernels\n", ran);
}

TEST_CASE("functions of images", "[dialect]") {
  std::size_t ran = 0;
  for (const Variant& v : variants()) {
    if (v.is_2026()) continue;
    std::vector<Trial> trials;
    for (std::uint32_t dims = 1; dims <= 3; ++dims) {
      for (const Function& f : image_functions()) {
        trials.push_back(make_trial(f, v, dims, trials.size()));
      }
    }
    ran += run_all(std::move(trials), v);
  }
  std::printf("image functions: %zu kernels\n", ran);
}

TEST_CASE("functions of integers", "[dialect]") {
  std::size_t ran = 0;
  for (const Variant& v : integer_variants()) {
    std::vector<Trial> trials;
    for (const Function& f : integer_functions()) {
      if (exists(f, v)) trials.push_back(make_trial(f, v, 0, trials.size()));
    }
    ran += run_all(std::move(trials), v);
  }
  std::printf("integer functions: %zu kernels\n", ran);
}
