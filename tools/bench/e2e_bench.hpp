// SPDX-License-Identifier: Apache-2.0
// Whole pictures through the whole pipeline: how long, how right, how hot, how much memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metric.hpp"
#include "spirkiln/result.hpp"
#include "thermal.hpp"

namespace spirkiln::bench {

struct E2ePicture {
  std::string file;
  std::string error;            // why it was not read; the rest is empty then
  std::vector<double> ms;       // of each timed reading
  std::size_t lines = 0;
  std::string text;             // lines with newlines
  std::optional<metric::Score> score;  // where its text is known
};

struct E2eReport {
  std::string device, driver, variant;
  std::vector<E2ePicture> pictures;
  // Milliseconds of readings in the order in which they were done, without decoding.
  std::vector<double> ms, decode_ms;
  std::optional<metric::Score> score;  // of all pictures whose text is known
  std::uint64_t text_hash = 0;  // XXH64, seed 0, of all texts one behind the other
  std::size_t changed = 0;  // readings that gave another text than the picture's first
  std::uint64_t peak_bytes = 0;  // of this process' resident memory so far
  std::vector<ThermalZone> before, after;
};

std::string e2e_text(const E2eReport& report, bool each);
std::string e2e_json(const E2eReport& report);

}  // namespace spirkiln::bench
