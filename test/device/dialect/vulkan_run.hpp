// SPDX-License-Identifier: Apache-2.0
// Runs SPIR-V on a device: buffers, images, samplers, push and specialization constants, nothing
// else. Objects live for one call; many jobs go into one submission.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "loader/device.hpp"

namespace spirkiln::test {

struct ImageShape {
  std::uint32_t dims = 2;    // 1, 2 or 3
  std::uint32_t lanes = 4;   // 1 or 4
  bool half = false;         // 16-bit lanes instead of 32
  std::uint32_t w = 1, h = 1, d = 1;
  bool sampled = false;      // behind a sampler, else a storage image
  bool bytes = false;        // 8-bit lanes, unsigned and normalised (sampled only, four lanes)
};

// The binding's number is its place in the job.
struct Binding {
  std::vector<std::byte> bytes;  // before the run, and behind it
  std::optional<ImageShape> image;
};

struct Job {
  std::string name;  // in errors
  std::vector<std::uint32_t> words;
  std::vector<Binding> bindings;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> specs;  // id and bits
  std::vector<std::uint32_t> push;
  std::array<std::uint32_t, 3> groups{1, 1, 1};
};

// All jobs; what they left in their bindings is in them behind it. Errors: a call that failed, or
// a kernel that wrote behind the end of a buffer.
Status run_jobs(const Device& device, std::span<Job> jobs);

// What the device lacks to run the words, or nothing. A capability that the dialect never asks for
// is an error of the dialect and named as such.
std::optional<std::string> lacks(const DeviceCaps& caps, std::span<const std::uint32_t> words);

// The device of all these tests, opened with validation; null where there is none.
const Device* device();
// Mesa's driver for processors: what the figures of the documentation were measured on.
bool on_lavapipe();

// Calls `work` with 0 .. count - 1 from a few threads.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace spirkiln::test
