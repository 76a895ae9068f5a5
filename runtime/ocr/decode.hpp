// SPDX-License-Identifier: Apache-2.0
// What a picture file says about itself before it is decoded, and the decoders.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "spirkiln/ocr.hpp"

namespace spirkiln::ocr {

using Bytes = std::span<const std::uint8_t>;

struct PictureHeader {
  std::string_view format;  // "PNG", "JPEG", ...
  std::uint64_t width = 0, height = 0;
  int orientation = 1;  // EXIF, 1..8
  std::uint64_t pages = 1;  // TIFF: directories that are pages; PNG: frames
  std::uint64_t max_side = 1u << 20;  // of the decoder
  // What decoding takes at most, beside file and result, where that may be more than
  // kDecodeBytesAPixel for each pixel of the picture; else 0.
  std::uint64_t decode_bytes = 0;
  // Why no decoder may see this file: what it lacks. Empty where it may be tried.
  std::string damage;
  // Why this file is not read though it may be whole; empty where it may be tried.
  std::string unsupported;
  // What is unusual about it, for the error of a decoder that gives no reason.
  std::string details;
};

// Nothing where the bytes begin like no format that is read; 0 x 0 where they begin like one but
// the size cannot be found.
std::optional<PictureHeader> read_picture_header(Bytes bytes);

// Orientation in a TIFF structure (an EXIF block without its "Exif\0\0"); 1 where there is none.
int exif_orientation(Bytes tiff);

// No decode takes more memory than this for each pixel that DecodeOptions allows, beside the file's
// own bytes. 16 are the samples of a progressive CMYK JPEG and its pixels, or a 16-bit TIFF with
// alpha in one strip.
constexpr std::uint64_t kDecodeBytesAPixel = 16;

// Each gives the pixels as they are stored: EXIF is applied by decode_picture(). `name` stands in
// messages; the header is that of the same bytes, its size within all limits.
// decode_jpeg() may send a warning.
Result<Picture> decode_jpeg(Bytes bytes, const std::string& name, const PictureHeader& header,
                            const MessageCallback& message);
Result<Picture> decode_pnm(Bytes bytes, const std::string& name, const PictureHeader& header);
// PNG, WebP, BMP, TIFF.
Result<Picture> decode_with_opencv(Bytes bytes, const std::string& name,
                                   const PictureHeader& header);

// "NAME: this JPEG file is damaged or cut short: WHY; get another copy of the file".
Error damaged(const std::string& name, const PictureHeader& header, const std::string& why);

}  // namespace spirkiln::ocr
