// SPDX-License-Identifier: Apache-2.0
#include "ocr/detect.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "ocr/merge.hpp"
#include "ocr/pack.hpp"
#include "ocr/tilt.hpp"

namespace spirkiln::ocr {
namespace {

constexpr int kGrid = 32;             // the graph halves its input five times
constexpr float kMinBoxSide = 3;      // pixels of the map, before a box grows
constexpr float kMinGrownSide = 5;    // and after
constexpr int kSmallSide = 128;  // scaled pictures below this on a side get ground around them
constexpr int kGroundSide = 48;  // that much on each side

int up_to_grid(int v) { return (v + kGrid - 1) / kGrid * kGrid; }

// Mean of the map, as it has its values, over a rotated rectangle.
float mean_inside(const cv::Mat& map, const Quad& quad) {
  cv::Rect around = cv::boundingRect(std::vector<cv::Point2f>(quad.begin(), quad.end()));
  around &= cv::Rect(0, 0, map.cols, map.rows);
  if (around.empty()) return 0;
  std::array<cv::Point, 4> corners;
  for (int i = 0; i < 4; ++i) {
    corners[i] = {static_cast<int>(quad[i].x) - around.x, static_cast<int>(quad[i].y) - around.y};
  }
  cv::Mat mask = cv::Mat::zeros(around.size(), CV_8U);
  cv::fillConvexPoly(mask, corners.data(), 4, cv::Scalar(1));
  return static_cast<float>(cv::mean(map(around), mask)[0]);
}

// Final stops are small and stand at the end: along the line a box gets more room than across it.
Quad grown(const Quad& quad, const OcrOptions& options, cv::Size picture) {
  const float w = quad_width(quad), h = quad_height(quad);
  const float height = std::min(w, h);
  const float x = height * (w >= h ? options.margin_x : options.margin_y);
  const float y = height * (w >= h ? options.margin_y : options.margin_x);
  const cv::Point2f right = (quad[1] - quad[0]) * (x / w), down = (quad[3] - quad[0]) * (y / h);
  Quad out = {quad[0] - right - down, quad[1] + right - down, quad[2] + right + down,
              quad[3] - right + down};
  for (cv::Point2f& p : out) {
    p.x = std::clamp(p.x, 0.0f, static_cast<float>(picture.width - 1));
    p.y = std::clamp(p.y, 0.0f, static_cast<float>(picture.height - 1));
  }
  return out;
}

float median_height(const std::vector<Box>& boxes) {
  std::vector<float> heights;
  for (const Box& box : boxes) {
    heights.push_back(std::min(quad_width(box.quad), quad_height(box.quad)));
  }
  const auto middle = heights.begin() + static_cast<std::ptrdiff_t>(heights.size() / 2);
  std::nth_element(heights.begin(), middle, heights.end());
  return *middle;
}

struct Look {
  std::vector<Box> boxes;
  bool full = false;  // there may be more
};

Result<Look> look(Net& net, const cv::Mat& picture, const DetectPlan& plan,
                  const OcrOptions& options) {
  const cv::Mat small = scaled(picture, plan.scaled);
  cv::Mat input;
  const cv::Point end = cv::Point(plan.input) - cv::Point(plan.scaled) - plan.pad;
  cv::copyMakeBorder(small, input, plan.pad.y, end.y, plan.pad.x, end.x, cv::BORDER_CONSTANT,
                     ground_of(small));
  PictureBatch batch(1, static_cast<std::uint32_t>(input.rows),
                     static_cast<std::uint32_t>(input.cols));
  batch.put(0, input);
  const auto boxes_of = [&](auto map, int type) -> Result<std::vector<Box>> {
    if (!map) return map.error();
    if (map->values.size() != static_cast<std::size_t>(input.rows) * input.cols) {
      return Error{ErrorCode::kUnsupported,
                   "the detection model answers " + std::to_string(map->values.size()) +
                       " values for " + std::to_string(input.cols) + " x " +
                       std::to_string(input.rows) +
                       " pixels, expected one for each: is this a detection model?"};
    }
    const cv::Mat view(input.rows, input.cols, type, map->values.data());
    if (!cv::checkRange(view)) {
      return Error{ErrorCode::kNotFinite,
                   "the detection model answers values that are not numbers: the device computes "
                   "this variant wrongly, force another one with SPIRKILN_VARIANT=fp32"};
    }
    return boxes_of_map(view, plan, picture.size(), options);
  };
  auto boxes = net.gives_bytes() ? boxes_of(net.run_bytes(batch.pictures()), CV_8U)
                                 : boxes_of(net.run(batch.pictures()), CV_32F);
  if (!boxes) return boxes.error();
  Look out;
  out.boxes = std::move(*boxes);
  out.full = out.boxes.size() >= options.max_boxes;
  out.boxes = merged(std::move(out.boxes));
  for (Box& box : out.boxes) box.quad = grown(box.quad, options, picture.size());
  return out;
}

// The picture at the plan's size turned level first; the boxes are the picture's all the same.
Result<Look> level_look(Net& net, const cv::Mat& picture, const DetectPlan& plan, float tilt,
                        const OcrOptions& options) {
  const Levelled level = levelled(scaled(picture, plan.scaled), tilt);
  auto out = look(net, level.picture, plan_detection(level.picture.size(), 1, options), options);
  if (!out) return out.error();
  const float zoom_x = static_cast<float>(plan.scaled.width) / static_cast<float>(picture.cols);
  const float zoom_y = static_cast<float>(plan.scaled.height) / static_cast<float>(picture.rows);
  for (Box& box : out->boxes) {
    box.quad = moved(box.quad, level.back);
    for (cv::Point2f& p : box.quad) {
      p.x = std::clamp((p.x + 0.5f) / zoom_x - 0.5f, 0.0f, static_cast<float>(picture.cols - 1));
      p.y = std::clamp((p.y + 0.5f) / zoom_y - 0.5f, 0.0f, static_cast<float>(picture.rows - 1));
    }
  }
  return out;
}

}  // namespace

float first_zoom(cv::Size picture, const OcrOptions& options) {
  const float longer = static_cast<float>(std::max(picture.width, picture.height));
  if (longer > static_cast<float>(options.detect_max_side)) {
    return static_cast<float>(options.detect_max_side) / longer;
  }
  return std::clamp(static_cast<float>(options.detect_min_side) / longer, 1.0f,
                    options.detect_max_zoom);
}

DetectPlan plan_detection(cv::Size picture, float zoom, const OcrOptions& options) {
  // Ground around a small picture: the graph sees no text that touches the border of a strip.
  const auto pad_for = [](int side) { return side < kSmallSide ? kGroundSide : 0; };
  DetectPlan plan;
  for (;;) {
    plan.zoom = zoom;
    plan.scaled.width = std::max(1, static_cast<int>(std::lround(picture.width * zoom)));
    plan.scaled.height = std::max(1, static_cast<int>(std::lround(picture.height * zoom)));
    plan.pad = {pad_for(plan.scaled.width), pad_for(plan.scaled.height)};
    plan.input.width = up_to_grid(plan.scaled.width + 2 * plan.pad.x);
    plan.input.height = up_to_grid(plan.scaled.height + 2 * plan.pad.y);
    const double pixels = static_cast<double>(plan.input.width) * plan.input.height;
    if (pixels <= options.detect_max_pixels ||
        std::max(plan.input.width, plan.input.height) <= kGrid) {
      return plan;
    }
    zoom *= 0.95f;
  }
}

std::vector<Box> boxes_of_map(const cv::Mat& map, const DetectPlan& plan, cv::Size picture,
                              const OcrOptions& options) {
  // A byte is above what its rounding would take a probability of the threshold to.
  const bool bytes = map.type() == CV_8U;
  const float unit = bytes ? 255.0f : 1.0f;
  cv::Mat mask;
  cv::compare(map, bytes ? std::floor(options.mask_threshold * unit) : options.mask_threshold, mask,
              cv::CMP_GT);
  std::vector<std::vector<cv::Point>> contours;
  cv::findContours(mask, contours, cv::RETR_LIST, cv::CHAIN_APPROX_SIMPLE);

  const float zoom_x = static_cast<float>(plan.scaled.width) / static_cast<float>(picture.width);
  const float zoom_y = static_cast<float>(plan.scaled.height) / static_cast<float>(picture.height);
  const float right = static_cast<float>(picture.width - 1);
  const float bottom = static_cast<float>(picture.height - 1);
  std::vector<Box> boxes;
  for (const auto& contour : contours) {
    if (boxes.size() >= options.max_boxes) break;
    cv::RotatedRect rect = cv::minAreaRect(contour);
    if (std::min(rect.size.width, rect.size.height) < kMinBoxSide) continue;
    Box box;
    box.score = mean_inside(map, ordered_corners(rect)) / unit;
    if (box.score < options.box_threshold) continue;
    // Unclipping a rectangle with round joins and boxing it again grows it by the distance.
    const float grow =
        rect.size.area() * options.unclip_ratio / (2 * (rect.size.width + rect.size.height));
    rect.size.width += 2 * grow;
    rect.size.height += 2 * grow;
    if (std::min(rect.size.width, rect.size.height) < kMinGrownSide) continue;
    box.quad = ordered_corners(rect);
    for (cv::Point2f& p : box.quad) {
      p.x = (p.x - static_cast<float>(plan.pad.x) + 0.5f) / zoom_x - 0.5f;
      p.y = (p.y - static_cast<float>(plan.pad.y) + 0.5f) / zoom_y - 0.5f;
      p.x = std::clamp(p.x, 0.0f, right);
      p.y = std::clamp(p.y, 0.0f, bottom);
    }
    if (quad_width(box.quad) < 2 || quad_height(box.quad) < 2) continue;
    boxes.push_back(box);
  }
  return boxes;
}

Result<Detection> detect(Net& net, const cv::Mat& picture, const OcrOptions& options) {
  Detection out;
  DetectPlan plan = plan_detection(picture.size(), first_zoom(picture.size(), options), options);
  auto found = look(net, picture, plan, options);
  if (!found) return found.error();
  out.runs = 1;
  const float height = found->boxes.empty() ? 0 : median_height(found->boxes) * plan.zoom;
  bool closer = false;
  if (height > 0 && height < options.detect_small_text) {
    const float wanted = plan.zoom * std::min(2.0f, 1.5f * options.detect_small_text / height);
    const DetectPlan closer_plan = plan_detection(picture.size(), wanted, options);
    closer = closer_plan.zoom >= plan.zoom * 1.2f;
    if (closer) plan = closer_plan;
  }
  const float tilt = common_tilt(found->boxes);
  if (closer || tilt != 0) {
    auto again = tilt != 0 ? level_look(net, picture, plan, tilt, options)
                           : look(net, picture, plan, options);
    if (!again) return again.error();
    out.runs = 2;
    // Level lines are fewer and longer: what had fallen apart is one.
    if (tilt != 0 ? length_of(again->boxes) >= 0.9f * length_of(found->boxes)
                  : again->boxes.size() >= found->boxes.size()) {
      found = std::move(again);
    }
  }
  if (found->full && options.message) {
    options.message(Severity::kWarning,
                    "there are " + std::to_string(options.max_boxes) +
                        " lines or more, of which so many are read; cut the picture into parts");
  }
  out.boxes = std::move(found->boxes);
  return out;
}

}  // namespace spirkiln::ocr
