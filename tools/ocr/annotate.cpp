// SPDX-License-Identifier: Apache-2.0
#include "annotate.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "labels.hpp"
#include "output_set.hpp"
#include "shown.hpp"

namespace spirkiln {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;

// What is drawn of a line is as large as the picture wants it, but follows the line: dense pages
// stay readable.
double room_of(const OcrLine& line) {
  const Area area = area_of(line);
  return std::min(area.right - area.left, area.bottom - area.top);
}

double number_scale(const OcrLine& line, int side) {
  constexpr double kFontHeight = 22;  // of digits at scale 1
  return std::clamp(0.6 * room_of(line) / kFontHeight, 0.4, std::max(0.4, side / 2000.0));
}

int thickness_of(const OcrLine& line, int side) {
  return std::clamp(static_cast<int>(room_of(line) / 16), 1, std::max(1, side / 600));
}

}  // namespace

Status can_annotate(const std::string& path) {
  bool known = false;
  try {
    known = std::filesystem::path(path).has_extension() && cv::haveImageWriter(path);
  } catch (const cv::Exception&) {
    known = false;
  }
  if (known) return Ok{};
  return Error{ErrorCode::kInvalidArgument,
               "--annotate '" + tool::shown(path) +
                   "': no picture format has this ending; use .png or .jpg"};
}

Status annotate(const Picture& picture, const OcrPage& page, const std::string& path) {
  const cv::Mat source(static_cast<int>(picture.height), static_cast<int>(picture.width), CV_8UC3,
                       const_cast<std::uint8_t*>(picture.bgr.data()));
  cv::Mat canvas = source.clone();
  const int side = std::max(canvas.cols, canvas.rows);
  const cv::Scalar box_colour(40, 40, 230), mark_colour(40, 170, 40);
  std::vector<double> scales;
  std::vector<Area> sizes;
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    scales.push_back(number_scale(page.lines[i], side));
    const cv::Size size = cv::getTextSize(std::to_string(i + 1), kFont, scales[i], 1, nullptr);
    sizes.push_back(
        {0, 0, static_cast<float>(size.width + 4), static_cast<float>(size.height + 4)});
  }
  const std::vector<Area> labels = place_labels(page.lines, sizes, static_cast<float>(canvas.cols),
                                                static_cast<float>(canvas.rows));
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const OcrLine& line = page.lines[i];
    std::vector<cv::Point> corners;
    for (const OcrPoint& p : line.box) {
      corners.emplace_back(static_cast<int>(std::lround(p.x)), static_cast<int>(std::lround(p.y)));
    }
    const int thickness = thickness_of(line, side);
    cv::polylines(canvas, corners, true, box_colour, thickness, cv::LINE_AA);
    // Where the line begins: the order of the corners is part of the answer.
    cv::circle(canvas, corners.front(), thickness * 3, mark_colour, cv::FILLED, cv::LINE_AA);
    const Area& label = labels[i];
    const double scale = scales[i] * (label.bottom - label.top) / sizes[i].bottom;
    const cv::Point baseline(static_cast<int>(label.left) + 2, static_cast<int>(label.bottom) - 2);
    cv::putText(canvas, std::to_string(i + 1), baseline, kFont, scale, mark_colour,
                std::max(1, static_cast<int>(scale * 1.5)), cv::LINE_AA);
  }

  std::vector<std::uint8_t> bytes;
  bool encoded = false;
  try {
    encoded = cv::imencode(std::filesystem::path(path).extension().string(), canvas, bytes);
  } catch (const cv::Exception&) {
    encoded = false;
  }
  if (!encoded) {
    return Error{ErrorCode::kInvalidArgument,
                 tool::shown(path) + ": a picture of this size could not be encoded; use .png"};
  }
  return tool::write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace spirkiln
