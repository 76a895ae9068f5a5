// SPDX-License-Identifier: Apache-2.0
// Bytes of a file to B G R pixels.
//
// OpenCV decodes with IMREAD_UNCHANGED, the only mode that keeps alpha and 16 bits; that mode
// ignores EXIF, so the orientation is applied here.
#include "ocr/decode.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "spirkiln/ocr.hpp"

namespace spirkiln {
namespace {

// Eight bits a channel; integer ranges are taken whole, floats between their extremes.
Result<cv::Mat> to_bytes(const cv::Mat& decoded, const std::string& name) {
  cv::Mat bytes;
  switch (decoded.depth()) {
    case CV_8U:
      return decoded;
    case CV_16U:
      decoded.convertTo(bytes, CV_8U, 1.0 / 257.0);
      return bytes;
    case CV_32F:
    case CV_64F: {
      cv::Mat finite = decoded.clone();
      cv::patchNaNs(finite.depth() == CV_32F ? finite : (finite.convertTo(finite, CV_32F), finite));
      double low = 0, high = 0;
      cv::minMaxLoc(finite.reshape(1), &low, &high);
      const double range = high > low ? high - low : 1;
      finite.convertTo(bytes, CV_8U, 255.0 / range, -low * 255.0 / range);
      return bytes;
    }
    default:
      return Error{
          ErrorCode::kUnsupported,
          name + ": samples of this type are not read; save it with 8 or 16 bits a channel"};
  }
}

// The grey level (255, 0 or 128) that visible pixels differ from most. Text is what has to stand
// out, and it may be the smaller part of what is visible: so the level is judged by the tenth that
// is nearest to it, not by the mean.
int ground_for(const cv::Mat& bgra) {
  std::array<double, 256> weight{};
  double total = 0;
  for (int y = 0; y < bgra.rows; ++y) {
    const cv::Vec4b* row = bgra.ptr<cv::Vec4b>(y);
    for (int x = 0; x < bgra.cols; ++x) {
      const cv::Vec4b& p = row[x];
      weight[(p[0] * 29 + p[1] * 150 + p[2] * 77) >> 8] += p[3];
      total += p[3];
    }
  }
  int best = 255;
  int best_distance = -1;
  for (const int ground : {255, 0, 128}) {
    std::array<double, 256> by_distance{};
    for (int v = 0; v < 256; ++v) by_distance[std::abs(v - ground)] += weight[v];
    double sum = 0;
    int distance = 0;
    while (distance < 255 && (sum += by_distance[distance]) < total * 0.1) ++distance;
    if (distance > best_distance) {
      best_distance = distance;
      best = ground;
    }
  }
  return best;
}

cv::Mat composite(const cv::Mat& bgra) {
  const int ground = ground_for(bgra);
  cv::Mat bgr(bgra.size(), CV_8UC3);
  for (int y = 0; y < bgra.rows; ++y) {
    const cv::Vec4b* from = bgra.ptr<cv::Vec4b>(y);
    cv::Vec3b* to = bgr.ptr<cv::Vec3b>(y);
    for (int x = 0; x < bgra.cols; ++x) {
      const int alpha = from[x][3];
      for (int c = 0; c < 3; ++c) {
        to[x][c] =
            static_cast<std::uint8_t>((from[x][c] * alpha + ground * (255 - alpha) + 127) / 255);
      }
    }
  }
  return bgr;
}

cv::Mat to_bgr(const cv::Mat& bytes) {
  cv::Mat out;
  switch (bytes.channels()) {
    case 1:
      cv::cvtColor(bytes, out, cv::COLOR_GRAY2BGR);
      return out;
    case 2: {
      std::array<cv::Mat, 2> planes;
      cv::split(bytes, planes.data());
      cv::merge(std::vector<cv::Mat>{planes[0], planes[0], planes[0], planes[1]}, out);
      return composite(out);
    }
    case 4:
      return composite(bytes);
    default:
      return bytes;
  }
}

// The eight ways a camera may have been held.
cv::Mat upright(const cv::Mat& picture, int orientation) {
  cv::Mat turned = picture;
  if (orientation >= 5) turned = picture.t();
  cv::Mat out;
  switch (orientation) {
    case 2:
    case 6:
      cv::flip(turned, out, 1);
      return out;
    case 3:
    case 7:
      cv::flip(turned, out, -1);
      return out;
    case 4:
    case 8:
      cv::flip(turned, out, 0);
      return out;
    default:
      return turned;
  }
}

Error cannot_decode(const std::string& name, const ocr::PictureHeader& header) {
  return {ErrorCode::kCorrupt, name + ": this " + std::string(header.format) +
                                   " file is damaged or cut short: it cannot be decoded; get "
                                   "another copy of the file"};
}

// Where the first scan of a JPEG begins, or the end of the bytes. What stands before it may hold a
// whole JPEG of its own, a thumbnail.
std::size_t first_scan(std::span<const std::uint8_t> bytes) {
  constexpr std::uint8_t kStartOfScan = 0xda;
  for (std::size_t at = 2; at + 4 <= bytes.size() && bytes[at] == 0xff;) {
    if (bytes[at + 1] == 0xff) {  // a fill byte
      ++at;
      continue;
    }
    if (bytes[at + 1] == kStartOfScan) return at;
    at += 2 + std::size_t{bytes[at + 2]} * 256 + bytes[at + 3];
  }
  return bytes.size();
}

// A JPEG that ends before its end marker decodes to a picture with a grey rest. Files with other
// bytes behind the marker are whole.
bool is_cut_short(std::span<const std::uint8_t> bytes, const ocr::PictureHeader& header) {
  if (header.format != "JPEG") return false;
  static constexpr std::uint8_t kEnd[2] = {0xff, 0xd9};
  const auto scans = bytes.subspan(first_scan(bytes));
  return std::search(scans.begin(), scans.end(), kEnd, kEnd + 2) == scans.end();
}

}  // namespace

Result<Picture> decode_picture(std::span<const std::uint8_t> bytes, const std::string& name,
                               const DecodeOptions& options) {
  if (bytes.empty()) {
    return Error{ErrorCode::kCorrupt, name + ": the file is empty, expected a picture"};
  }
  const auto header = ocr::read_picture_header(bytes);
  if (!header) {
    return Error{
        ErrorCode::kUnsupported,
        name + ": not a picture that can be read here (PNG, JPEG, WebP, BMP, TIFF or PNM)"};
  }
  if (header->width == 0 || header->height == 0) return cannot_decode(name, *header);
  if (header->width > options.max_pixels / header->height) {
    return Error{ErrorCode::kOutOfMemory,
                 name + ": " + std::to_string(header->width) + " x " +
                     std::to_string(header->height) + " pixels are more than the limit of " +
                     std::to_string(options.max_pixels) + "; scale the picture down"};
  }
  if (header->animated) {
    return Error{ErrorCode::kUnsupported,
                 name + ": an animated WebP, which is not read; save one frame of it as a picture"};
  }
  if (is_cut_short(bytes, *header)) return cannot_decode(name, *header);

  cv::Mat picture;
  try {
    const cv::Mat encoded(1, static_cast<int>(bytes.size()), CV_8U,
                          const_cast<std::uint8_t*>(bytes.data()));
    const cv::Mat decoded = cv::imdecode(encoded, cv::IMREAD_UNCHANGED);
    if (decoded.empty()) return cannot_decode(name, *header);
    auto eight_bit = to_bytes(decoded, name);
    if (!eight_bit) return eight_bit.error();
    // libtiff has applied the orientation already.
    const int orientation = header->format == "TIFF" ? 1 : header->orientation;
    picture = upright(to_bgr(*eight_bit), orientation);
  } catch (const cv::Exception& error) {
    if (error.code == cv::Error::StsNoMem) {
      return Error{ErrorCode::kOutOfMemory, name + ": not enough memory to decode the picture"};
    }
    return cannot_decode(name, *header);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, name + ": not enough memory to decode the picture"};
  }

  Picture out;
  out.width = static_cast<std::uint32_t>(picture.cols);
  out.height = static_cast<std::uint32_t>(picture.rows);
  const std::size_t row_bytes = std::size_t{out.width} * 3;
  out.bgr.resize(row_bytes * out.height);
  for (int y = 0; y < picture.rows; ++y) {
    std::memcpy(out.bgr.data() + y * row_bytes, picture.ptr(y), row_bytes);
  }
  return out;
}

Result<Picture> load_picture(const std::string& path, const DecodeOptions& options) {
  std::error_code ec;
  if (!path.empty() && std::filesystem::is_directory(path, ec)) {
    return Error{ErrorCode::kIo, path + ": is a folder, expected a picture"};
  }
  // Neither may ever end.
  const auto type = std::filesystem::status(path, ec).type();
  if (type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character) {
    return Error{ErrorCode::kIo, path + ": is a pipe or device, expected a picture file"};
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) {
    return Error{ErrorCode::kIo, path + ": cannot be opened: " + std::strerror(errno)};
  }
  // Read in pieces: pipes have no size, and files may grow or lie.
  std::vector<std::uint8_t> bytes;
  constexpr std::size_t kPiece = 1u << 20;
  for (;;) {
    const std::size_t have = bytes.size();
    bytes.resize(have + kPiece);
    const std::size_t got = std::fread(bytes.data() + have, 1, kPiece, file.get());
    bytes.resize(have + got);
    if (bytes.size() > options.max_file_bytes) {
      return Error{ErrorCode::kOutOfMemory, path + ": larger than the limit of " +
                                                std::to_string(options.max_file_bytes) + " bytes"};
    }
    if (got < kPiece) break;
  }
  if (std::ferror(file.get()) != 0) {
    return Error{ErrorCode::kIo, path + ": cannot be read: " + std::strerror(errno)};
  }
  return decode_picture(bytes, path, options);
}

}  // namespace spirkiln
