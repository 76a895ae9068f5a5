// SPDX-License-Identifier: Apache-2.0
#include "annotate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <system_error>
#include <vector>

namespace spirkiln {

Status can_annotate(const std::string& path) {
  bool known = false;
  try {
    known = std::filesystem::path(path).has_extension() && cv::haveImageWriter(path);
  } catch (const cv::Exception&) {
    known = false;
  }
  if (known) return Ok{};
  return Error{ErrorCode::kInvalidArgument,
               "--annotate '" + path + "': no picture format has this ending; use .png or .jpg"};
}

Status annotate(const Picture& picture, const OcrPage& page, const std::string& path) {
  const cv::Mat source(static_cast<int>(picture.height), static_cast<int>(picture.width), CV_8UC3,
                       const_cast<std::uint8_t*>(picture.bgr.data()));
  cv::Mat canvas = source.clone();
  const int side = std::max(canvas.cols, canvas.rows);
  const int thickness = std::max(1, side / 600);
  const cv::Scalar box_colour(40, 40, 230), mark_colour(40, 170, 40);
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    std::vector<cv::Point> corners;
    for (const OcrPoint& p : page.lines[i].box) {
      corners.emplace_back(static_cast<int>(std::lround(p.x)), static_cast<int>(std::lround(p.y)));
    }
    cv::polylines(canvas, corners, true, box_colour, thickness, cv::LINE_AA);
    // Where the line begins: the order of the corners is part of the answer.
    cv::circle(canvas, corners.front(), thickness * 3, mark_colour, cv::FILLED, cv::LINE_AA);
    cv::putText(canvas, std::to_string(i + 1), corners.front(), cv::FONT_HERSHEY_SIMPLEX,
                std::max(0.35, side / 2000.0), mark_colour, thickness, cv::LINE_AA);
  }

  const std::filesystem::path target(path);
  std::vector<std::uint8_t> bytes;
  try {
    if (!cv::imencode(target.extension().string(), canvas, bytes)) {
      return Error{ErrorCode::kInvalidArgument, path + ": the picture could not be encoded"};
    }
  } catch (const cv::Exception&) {
    return Error{ErrorCode::kInvalidArgument, path + ": the picture could not be encoded"};
  }
  const std::filesystem::path part = path + ".part";
  std::FILE* file = std::fopen(part.c_str(), "wb");
  bool written =
      file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  std::error_code failed;
  if (written) std::filesystem::rename(part, target, failed);
  if (!written || failed) {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    return Error{ErrorCode::kIo, path + ": cannot be written"};
  }
  return Ok{};
}

}  // namespace spirkiln
