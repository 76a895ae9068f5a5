// SPDX-License-Identifier: Apache-2.0
// Bytes of a file to B G R pixels.
#include <algorithm>
#include <climits>
#include <new>
#include <opencv2/core.hpp>
#include <utility>

#include "ocr/decode.hpp"
#include "ocr/file.hpp"

namespace spirkiln {
namespace ocr {

Error damaged(const std::string& name, const PictureHeader& header, const std::string& why) {
  return {ErrorCode::kCorrupt, name + ": this " + std::string(header.format) +
                                   " file is damaged or cut short: " + why +
                                   "; get another copy of the file"};
}

namespace {

cv::Mat view(Picture& picture) {
  return cv::Mat(static_cast<int>(picture.height), static_cast<int>(picture.width), CV_8UC3,
                 picture.bgr.data());
}

// The eight ways a camera may have been held.
Picture upright(Picture picture, int orientation) {
  if (orientation >= 5) {
    Picture turned{picture.height, picture.width, {}};
    turned.bgr.resize(picture.bgr.size());
    cv::Mat to = view(turned);
    cv::transpose(view(picture), to);
    picture = std::move(turned);
  }
  cv::Mat pixels = view(picture);
  switch (orientation) {
    case 2:
    case 6:
      cv::flip(pixels, pixels, 1);
      break;
    case 3:
    case 7:
      cv::flip(pixels, pixels, -1);
      break;
    case 4:
    case 8:
      cv::flip(pixels, pixels, 0);
      break;
    default:
      break;
  }
  return picture;
}

// What can be refused before anything is decoded.
Status check(const std::string& name, const PictureHeader& header, const DecodeOptions& options) {
  const std::string format(header.format);
  const std::string size =
      std::to_string(header.width) + " x " + std::to_string(header.height) + " pixels";
  if (!header.unsupported.empty()) {
    return Error{ErrorCode::kUnsupported, name + ": a " + format + " file with " +
                                              header.unsupported +
                                              ", which is not read; save it as a PNG of 8 bits"};
  }
  if (!header.damage.empty()) return damaged(name, header, header.damage);
  if (header.width == 0 || header.height == 0) {
    return damaged(name, header, "it states no width and height");
  }
  if (header.width > options.max_pixels / header.height) {
    return Error{ErrorCode::kOutOfMemory, name + ": " + size + " are more than the limit of " +
                                              std::to_string(options.max_pixels) +
                                              "; scale the picture down"};
  }
  if (std::max(header.width, header.height) > header.max_side) {
    return Error{ErrorCode::kUnsupported, name + ": " + size + ", where a side of a " + format +
                                              " may have " + std::to_string(header.max_side) +
                                              "; cut the picture into parts"};
  }
  if (header.decode_bytes / kDecodeBytesAPixel > options.max_pixels) {
    return Error{ErrorCode::kOutOfMemory,
                 name + ": " + size + " (" + header.details + ") take up to " +
                     std::to_string(header.decode_bytes) + " bytes to decode, more than " +
                     std::to_string(kDecodeBytesAPixel) + " for each pixel of the limit of " +
                     std::to_string(options.max_pixels) +
                     "; save it with 8 bits a sample and in smaller strips or tiles"};
  }
  return Ok{};
}

Result<Picture> decode(Bytes bytes, const std::string& name, const PictureHeader& header,
                       const MessageCallback& message) {
  if (header.format == "JPEG") return decode_jpeg(bytes, name, header, message);
  if (header.format == "PNM") return decode_pnm(bytes, name, header);
  return decode_with_opencv(bytes, name, header);
}

}  // namespace
}  // namespace ocr

Result<Picture> decode_picture(std::span<const std::uint8_t> bytes, const std::string& name,
                               const DecodeOptions& options) {
  if (bytes.empty()) {
    return Error{ErrorCode::kCorrupt, name + ": the file is empty, expected a picture"};
  }
  if (bytes.size() > std::min<std::uint64_t>(options.max_file_bytes, INT_MAX)) {
    return Error{ErrorCode::kOutOfMemory, name + ": larger than the limit of " +
                                              std::to_string(options.max_file_bytes) +
                                              " bytes, expected a picture"};
  }
  const auto header = ocr::read_picture_header(bytes);
  if (!header) {
    return Error{
        ErrorCode::kUnsupported,
        name + ": not a picture that can be read here (PNG, JPEG, WebP, BMP, TIFF or PNM)"};
  }
  if (auto status = ocr::check(name, *header, options); !status) return status.error();
  try {
    auto picture = ocr::decode(bytes, name, *header, options.message);
    if (!picture) return picture;
    if (header->pages > 1 && options.message) {
      options.message(Severity::kWarning, name + ": this " + std::string(header->format) +
                                              " file has " + std::to_string(header->pages) +
                                              (header->format == "TIFF" ? " pages" : " frames") +
                                              ", of which only the first is read");
    }
    // OpenCV has applied that of a TIFF already.
    return ocr::upright(*std::move(picture), header->format == "TIFF" ? 1 : header->orientation);
  } catch (const cv::Exception& error) {
    if (error.code != cv::Error::StsNoMem) return ocr::damaged(name, *header, error.err);
  } catch (const std::bad_alloc&) {
  }
  return Error{ErrorCode::kOutOfMemory, name + ": not enough memory to decode the picture"};
}

Result<Picture> load_picture(const std::string& path, const DecodeOptions& options) {
  auto bytes = ocr::read_file(path, options.max_file_bytes, "a picture");
  if (!bytes) return std::move(bytes).error();
  return decode_picture(*bytes, path, options);
}

}  // namespace spirkiln
