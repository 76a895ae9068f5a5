// SPDX-License-Identifier: Apache-2.0
#include "ocr/merge.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace spirkiln::ocr {
namespace {

constexpr float kTall = 1.5f;        // length over height from which a box has a direction
constexpr float kLeastRatio = 0.6f;  // of two heights in one line: a digit is lower than a bracket
constexpr float kGapDown = 0.5f;  // between parts of a line, in heights
constexpr float kGapRight = -0.6f;  // columns and cells may stand close

struct Line {  // a box along its longer side
  cv::Point2f centre, along;
  float length, height;
  bool down;
};

Line as_line(const Quad& q) {
  Line line;
  line.centre = (q[0] + q[1] + q[2] + q[3]) * 0.25f;
  const float w = quad_width(q), h = quad_height(q);
  line.down = h > w;
  const cv::Point2f side =
      line.down ? (q[3] - q[0]) + (q[2] - q[1]) : (q[1] - q[0]) + (q[2] - q[3]);
  const float norm = std::max(1e-6f, std::hypot(side.x, side.y));
  line.along = side * (1 / norm);
  line.length = std::max(w, h);
  line.height = std::min(w, h);
  return line;
}

bool same_line(const Line& a, const Line& b) {
  const Line& longer = a.length / a.height >= b.length / b.height ? a : b;
  const Line& other = &longer == &a ? b : a;
  if (longer.length < kTall * longer.height) return false;
  const float ratio = a.height / b.height;
  if (ratio < kLeastRatio || ratio > 1 / kLeastRatio) return false;
  if (other.length >= kTall * other.height) {
    // The angle of a short box says little.
    const float cross = a.along.x * b.along.y - a.along.y * b.along.x;
    if (std::fabs(cross) > (other.length < 3 * other.height ? 0.26f : 0.12f)) return false;
  }
  const cv::Point2f between = other.centre - longer.centre;
  const float across = std::fabs(between.x * longer.along.y - between.y * longer.along.x);
  if (across > 0.25f * longer.height) return false;
  const float apart = std::fabs(between.x * longer.along.x + between.y * longer.along.y);
  const float gap = apart - (longer.length + other.length) / 2;
  return gap < (longer.down ? kGapDown : kGapRight) * std::min(a.height, b.height);
}

Box joined(const Box& a, const Box& b) {
  std::vector<cv::Point2f> points(a.quad.begin(), a.quad.end());
  points.insert(points.end(), b.quad.begin(), b.quad.end());
  const float area_a = quad_width(a.quad) * quad_height(a.quad);
  const float area_b = quad_width(b.quad) * quad_height(b.quad);
  Box out;
  out.quad = ordered_corners(cv::minAreaRect(points));
  out.score = (a.score * area_a + b.score * area_b) / (area_a + area_b);
  return out;
}

}  // namespace

std::vector<Box> merged(std::vector<Box> boxes) {
  std::vector<Line> lines;
  for (const Box& box : boxes) lines.push_back(as_line(box.quad));
  for (std::size_t i = 0; i < boxes.size();) {
    std::size_t k = 0;
    while (k < boxes.size() && (k == i || !same_line(lines[i], lines[k]))) ++k;
    if (k == boxes.size()) {
      ++i;
      continue;
    }
    // The longer line may reach further, so it is tried again.
    boxes[i] = joined(boxes[i], boxes[k]);
    lines[i] = as_line(boxes[i].quad);
    boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(k));
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(k));
    if (k < i) --i;
  }
  return boxes;
}

}  // namespace spirkiln::ocr
