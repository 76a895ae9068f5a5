// SPDX-License-Identifier: Apache-2.0
// What a picture file says about itself before it is decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace spirkiln::ocr {

struct PictureHeader {
  std::string_view format;  // "PNG", "JPEG", ...
  std::uint64_t width = 0, height = 0;
  int orientation = 1;  // EXIF, 1..8
  bool animated = false;  // WebP: frames, which the decoder does not read
};

// Nothing where the bytes begin like no format that is read; 0 x 0 where they begin like one but
// the size cannot be found.
std::optional<PictureHeader> read_picture_header(std::span<const std::uint8_t> bytes);

// Orientation in a TIFF structure (an EXIF block without its "Exif\0\0"); 1 where there is none.
int exif_orientation(std::span<const std::uint8_t> tiff);

}  // namespace spirkiln::ocr
