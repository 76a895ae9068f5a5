// SPDX-License-Identifier: Apache-2.0
// Every function in every variant, executed, and compared with the model bit for bit.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <map>
#include <optional>

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

struct Count {
  std::size_t kernels = 0;   // that were compiled
  std::size_t executed = 0;  // of those; the others have the words and data of one of these
};

struct Plan {
  const Function* function;
  const Variant* variant;
  std::uint32_t dims;
  std::size_t index;
};

void add_plans(std::span<const Function> functions, const Variant& v, std::uint32_t dims,
               std::vector<Plan>* plans) {
  std::size_t index = 0;
  for (const Function& f : functions) {
    if (exists(f, v)) plans->push_back({&f, &v, dims, index++});
  }
}

void run_all(const std::vector<Plan>& plans, Count* count) {
  conversions();
  std::vector<Trial> trials(plans.size());
  std::vector<Compiled> compiled(plans.size());
  in_parallel(plans.size(), [&](std::size_t i) {
    const Plan& p = plans[i];
    trials[i] = make_trial(*p.function, *p.variant, p.dims, p.index);
    compiled[i] = try_compile(option_of(*p.variant), trials[i].text, "kernel.comp");
  });
  std::vector<Job> jobs;
  std::map<std::vector<std::uint32_t>, std::size_t> by_words;
  std::vector<std::optional<std::size_t>> job_of(trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    Trial& t = trials[i];
    if (compiled[i].words.empty()) {
      FAIL_CHECK(t.job.name << ":\n" << compiled[i].said << t.text);
      continue;
    }
    ++count->kernels;
    if (const auto missing = lacks(device()->state()->caps, compiled[i].words)) {
      skipped()[t.job.name] = *missing;
      continue;
    }
    // The variants on images have the buffer functions of the others, word for word.
    const auto [at, is_new] = by_words.emplace(compiled[i].words, jobs.size());
    if (is_new || jobs[at->second].bindings[0].bytes != t.job.bindings[0].bytes) {
      t.job.words = std::move(compiled[i].words);
      at->second = jobs.size();
      jobs.push_back(std::move(t.job));
    }
    job_of[i] = at->second;
  }
  count->executed += jobs.size();
  const Status status = run_jobs(*device(), jobs);
  if (!status) FAIL(status.error().message);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!job_of[i]) continue;
    compare(trials[i], unpack_lanes(trials[i].codec, jobs[*job_of[i]].bindings[1].bytes));
  }
}

void say(const char* what, const Count& count) {
  std::printf("%s: %zu kernels, %zu different ones executed\n", what, count.kernels,
              count.executed);
}

// Variants that differ only in what NCNN_image_shader says, together.
std::vector<std::vector<Variant>> families() {
  std::vector<std::vector<Variant>> all;
  for (const Variant& v : variants()) {
    const auto twin = std::find_if(all.begin(), all.end(), [&](const auto& family) {
      const Variant& f = family.front();
      return v.on_images() && !f.is_2026() && f.scalar == v.scalar && f.vector == v.vector &&
             f.half_arithmetic == v.half_arithmetic;
    });
    if (twin == all.end()) {
      all.push_back({v});
    } else {
      twin->push_back(v);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("options choose the variant of that name", "[dialect]") {
  for (const Variant& v : variants()) CHECK(variant_name(option_of(v)) == v.name);
  for (const Variant& v : integer_variants()) CHECK(variant_name(option_of(v)) == v.name);
}

TEST_CASE("functions of buffers and workgroup memory", "[dialect]") {
  Count count;
  for (const auto& family : families()) {
    std::vector<Plan> plans;
    for (const Variant& v : family) add_plans(buffer_functions(), v, 0, &plans);
    run_all(plans, &count);
  }
  say("buffer functions", count);
}

TEST_CASE("functions of images", "[dialect]") {
  Count count;
  for (const auto& family : families()) {
    std::vector<Plan> plans;
    for (const Variant& v : family) {
      for (std::uint32_t dims = 1; dims <= 3; ++dims) {
        add_plans(image_functions(), v, dims, &plans);
      }
    }
    run_all(plans, &count);
  }
  say("image functions", count);
}

TEST_CASE("functions of integers", "[dialect]") {
  Count count;
  for (const Variant& v : integer_variants()) {
    std::vector<Plan> plans;
    add_plans(integer_functions(), v, 0, &plans);
    run_all(plans, &count);
  }
  say("integer functions", count);
}
