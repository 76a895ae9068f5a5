// SPDX-License-Identifier: Apache-2.0
// Results that are no numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace spirkiln {

// Without a branch, so that it is done in vectors: results are megabytes.
inline bool all_finite(const float* values, std::size_t n) {
  std::uint32_t bad = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(values[i]);
    bad |= ((bits & 0x7f800000u) + 0x00800000u) & 0x80000000u;
  }
  return bad == 0;
}

}  // namespace spirkiln
