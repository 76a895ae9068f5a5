// SPDX-License-Identifier: Apache-2.0
// The seeded pictures of test/ort/reference.mjs, in integers only so that both make the same bytes.
#pragma once

#include <cstdint>
#include <vector>

namespace spirkiln::test {

// Characters of seven segments, 8 x 16 pixels, in every other row of 16.
inline bool reference_stroke(int b, int x, int y) {
  if (((y >> 4) & 1) == 0) return false;
  const unsigned mixed =
      static_cast<unsigned>((x >> 3) * 40503 + (y >> 4) * 60493 + b * 31337 + 12345) & 0xffffu;
  const unsigned segments = (mixed * 40503u >> 7) & 0x7fu;
  const int col = x & 7, row = y & 15;
  if (col < 1 || col > 6 || row < 1 || row > 14) return false;
  int bit = -1;
  if (row <= 2)
    bit = 0;
  else if (row >= 13)
    bit = 1;
  else if (row == 7 || row == 8)
    bit = 2;
  else if (col <= 2)
    bit = row < 7 ? 3 : 4;
  else if (col >= 5)
    bit = row < 7 ? 5 : 6;
  return bit >= 0 && ((segments >> bit) & 1) == 1;
}

// n pictures of h x w pixels of 4 bytes: B, G, R and 255 (valid).
inline std::vector<std::uint8_t> reference_picture(std::uint32_t seed, int n, int h, int w) {
  std::vector<std::uint8_t> bytes;
  std::uint32_t state = seed;
  for (int b = 0; b < n; ++b)
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) {
        const bool dark = reference_stroke(b, x, y) && x >= 8 && x < w - 8;
        for (int c = 0; c < 3; ++c) {
          state = state * 1664525u + 1013904223u;
          const int value = (dark ? 30 : 220) + c * 3 + static_cast<int>(state >> 28);
          bytes.push_back(static_cast<std::uint8_t>(value));
        }
        bytes.push_back(255);
      }
  return bytes;
}

}  // namespace spirkiln::test
