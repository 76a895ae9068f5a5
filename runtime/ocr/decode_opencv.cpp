// SPDX-License-Identifier: Apache-2.0
// PNG, WebP, BMP and TIFF through OpenCV.
//
// OpenCV decodes with IMREAD_UNCHANGED, the only mode that keeps alpha and 16 bits.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string_view>

#include "ocr/decode.hpp"

namespace spirkiln::ocr {
namespace {

// Floats between their extremes; what is no number becomes the least. Row by row: such pictures are
// large enough once.
template <typename Float>
cv::Mat floats_to_bytes(const cv::Mat& floats) {
  const std::size_t across = static_cast<std::size_t>(floats.cols) * floats.channels();
  Float low = std::numeric_limits<Float>::max(), high = std::numeric_limits<Float>::lowest();
  for (int y = 0; y < floats.rows; ++y) {
    const Float* row = floats.ptr<Float>(y);
    for (std::size_t x = 0; x < across; ++x) {
      if (std::isfinite(row[x])) low = std::min(low, row[x]), high = std::max(high, row[x]);
    }
  }
  const double scale = high > low ? 255.0 / (static_cast<double>(high) - low) : 0;
  cv::Mat bytes(floats.size(), CV_MAKETYPE(CV_8U, floats.channels()));
  for (int y = 0; y < floats.rows; ++y) {
    const Float* from = floats.ptr<Float>(y);
    std::uint8_t* to = bytes.ptr(y);
    for (std::size_t x = 0; x < across; ++x) {
      to[x] = std::isfinite(from[x])
                  ? static_cast<std::uint8_t>((static_cast<double>(from[x]) - low) * scale + 0.5)
                  : 0;
    }
  }
  return bytes;
}

// Eight bits a channel. Empty where samples are of another type.
cv::Mat to_bytes(const cv::Mat& decoded) {
  cv::Mat bytes;
  switch (decoded.depth()) {
    case CV_8U:
      return decoded;
    case CV_16U:
      decoded.convertTo(bytes, CV_8U, 1.0 / 257.0);
      return bytes;
    case CV_32F:
      return floats_to_bytes<float>(decoded);
    case CV_64F:
      return floats_to_bytes<double>(decoded);
    default:
      return {};
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

void composite(const cv::Mat& bgra, cv::Mat& bgr) {
  const int ground = ground_for(bgra);
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
}

// `bgr` has the size of `bytes` and three channels.
void to_bgr(const cv::Mat& bytes, cv::Mat& bgr) {
  switch (bytes.channels()) {
    case 1:
      cv::cvtColor(bytes, bgr, cv::COLOR_GRAY2BGR);
      return;
    case 2: {  // grey and alpha
      cv::Mat bgra(bytes.size(), CV_8UC4);
      cv::mixChannels({bytes}, {bgra}, {0, 0, 0, 1, 0, 2, 1, 3});
      composite(bgra, bgr);
      return;
    }
    case 4:
      composite(bytes, bgr);
      return;
    default:
      bytes.copyTo(bgr);
  }
}

// What a format's own decoder refuses OpenCV gives to the next that knows the file, and DICOM's
// knows it by four bytes in the midst; that one ends the process where the rest is none.
bool may_be_taken_for_dicom(Bytes bytes) {
  constexpr std::string_view kMark = "DICM";
  constexpr std::size_t kAt = 128;
  return bytes.size() >= kAt + kMark.size() &&
         std::equal(kMark.begin(), kMark.end(), bytes.begin() + kAt);
}

}  // namespace

Result<Picture> decode_with_opencv(Bytes bytes, const std::string& name,
                                   const PictureHeader& header) {
  if (may_be_taken_for_dicom(bytes)) {
    return Error{ErrorCode::kUnsupported,
                 name + ": this " + std::string(header.format) +
                     " file has the mark of DICOM at byte 128, so it is not decoded; save the "
                     "picture anew"};
  }
  const cv::Mat encoded(1, static_cast<int>(bytes.size()), CV_8U,
                        const_cast<std::uint8_t*>(bytes.data()));
  cv::Mat pixels;
  try {
    pixels = cv::imdecode(encoded, cv::IMREAD_UNCHANGED);
  } catch (const cv::Exception& error) {
    if (error.code == cv::Error::StsNoMem) throw;
  }
  if (pixels.empty()) {
    if (header.details.empty()) return damaged(name, header, "it cannot be decoded");
    return damaged(name, header,
                   "it cannot be decoded, or its kind (" + header.details + ") is not read here");
  }
  const int depth = pixels.depth();
  pixels = to_bytes(pixels);
  if (pixels.empty() || pixels.channels() > 4) {
    return Error{ErrorCode::kUnsupported,
                 name + ": samples of this type (" + header.details +
                     (depth == CV_8S || depth == CV_16S ? ", signed" : "") +
                     ") are not read; save it with 8 or 16 bits a channel"};
  }
  Picture picture;
  picture.width = static_cast<std::uint32_t>(pixels.cols);
  picture.height = static_cast<std::uint32_t>(pixels.rows);
  picture.bgr.resize(std::size_t{picture.width} * picture.height * 3);
  cv::Mat bgr(pixels.size(), CV_8UC3, picture.bgr.data());
  to_bgr(pixels, bgr);
  return picture;
}

}  // namespace spirkiln::ocr
