// SPDX-License-Identifier: Apache-2.0
// The best channel of a pixel, on the host.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace spirkiln {

// As best.comp: the channel (of equal ones the first) and its value, which is no number where any
// value of the pixel is none. Channels are exact as floats up to 2^24.
inline std::array<float, 2> best_channel(const float* values, std::size_t channels) {
  std::size_t best = 0;
  float sum = 0;
  for (std::size_t c = 0; c < channels; ++c) {
    if (values[c] > values[best]) best = c;
    sum += values[c];
  }
  return {static_cast<float>(best), std::isfinite(sum) ? values[best] : sum};
}

}  // namespace spirkiln
