// SPDX-License-Identifier: Apache-2.0
// Pictures in memory: their headers, which are ours to read, and what OpenCV makes of the rest.
#include <cstdlib>

#include "input.hpp"
#include "spirkiln/ocr.hpp"

using namespace spirkiln;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  DecodeOptions options;
  options.max_pixels = 1u << 16;
  const auto picture = decode_picture({data, size}, "fuzz", options);
  if (!picture) return 0;
  const std::uint64_t pixels = std::uint64_t{picture->width} * picture->height;
  if (pixels == 0 || pixels > options.max_pixels || picture->bgr.size() != pixels * 3) std::abort();
  return 0;
}
