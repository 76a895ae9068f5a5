// SPDX-License-Identifier: Apache-2.0
// Values as bytes, on the host: as bytes_out.glsl.
#pragma once

#include <algorithm>
#include <cstdint>

namespace spirkiln {

// Of a finite value.
inline std::uint8_t byte_of(float value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 1.0f) * 255.0f + 0.5f);
}

inline float value_of(std::uint8_t byte) { return static_cast<float>(byte) / 255.0f; }

}  // namespace spirkiln
