// SPDX-License-Identifier: Apache-2.0
// Runs one module on buffers and images that it makes itself, instrumented or as it is.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyse.hpp"
#include "loader/device.hpp"
#include "spirkiln/table_format.hpp"
#include "trace.hpp"

namespace spirkiln::access {

// Which groups are traced, and how many records there is room for.
struct TraceRequest {
  std::uint32_t set = 0;             // descriptor set of the trace buffer
  std::uint32_t capacity = 1 << 22;  // records of 16 bytes
  std::uint32_t first = 0, step = 1;
  bool only_traced = false;  // other groups do nothing: results are not whole
};

struct RunRequest {
  const std::vector<std::uint32_t>& words;
  std::vector<table::BindingEntry> bindings;  // the kernel's own
  std::vector<std::pair<std::uint32_t, std::uint32_t>> specs;  // id, bits
  std::vector<std::uint32_t> push;
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  // By set << 16 | binding: every buffer and image of `bindings`.
  Extents extents;
  std::map<std::uint32_t, VkFormat> formats;  // of the images
  std::map<std::uint32_t, VkImageType> dimensions;
  std::optional<TraceRequest> trace;
  std::uint32_t seed = 1;
  std::uint32_t timeout_s = 60;
  // Not 0: buffers lie in device memory, and that many dispatches, one behind the other, are timed
  // `turns` times, of which the least counts. Before, the same runs until the device has worked for
  // `warm_ms`: an idle one has slow clocks. Nothing comes back but the time.
  std::uint32_t repeats = 0;
  std::uint32_t turns = 1;
  std::uint32_t warm_ms = 0;
};

struct RunResult {
  double us = 0;  // of one of the repeats
  Trace trace;
  std::map<std::uint32_t, std::vector<std::byte>> buffers;  // after the run
};

// What the seed puts into buffers and images: 16-bit values that are finite, positive numbers as
// halves and, two together, as floats.
void fill_seeded(std::uint32_t seed, std::span<std::byte> bytes);

// `hung` is set where the kernel did not end in time: the device still works on it, so the process
// must end by std::_Exit. Errors: kUnsupported for limits of the device and what does not end;
// kOutOfMemory, kVulkan.
Result<RunResult> run_kernel(const Device& device, const RunRequest& request, bool* hung);

}  // namespace spirkiln::access
