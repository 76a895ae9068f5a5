// SPDX-License-Identifier: Apache-2.0
#include "ocr/tilt.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <opencv2/imgproc.hpp>

#include "ocr/pack.hpp"

namespace spirkiln::ocr {
namespace {

constexpr float kDegrees = 180.0f / static_cast<float>(CV_PI);
constexpr float kDirection = 3;   // length over height from which a box's angle says something
constexpr std::size_t kFewest = 3;  // boxes with a direction
constexpr float kAgree = 4;       // degrees
constexpr float kMost = 0.8f;     // share of the length that has to agree
constexpr float kLevel = 6;  // degrees; below, lines hold together

// Into [-45, 45]: a quarter turn is no tilt.
float within_a_quarter(float degrees) { return degrees - 90 * std::round(degrees / 90); }

struct Direction {
  float degrees, length;
};

}  // namespace

float common_tilt(const std::vector<Box>& boxes) {
  std::vector<Direction> directions;
  for (const Box& box : boxes) {
    const float w = quad_width(box.quad), h = quad_height(box.quad);
    if (std::max(w, h) < kDirection * std::min(w, h)) continue;
    directions.push_back({within_a_quarter(quad_angle(box.quad)), std::max(w, h)});
  }
  if (directions.size() < kFewest) return 0;
  // Four times an angle goes round once in a quarter turn, so that -44 and 44 degrees are near.
  std::complex<float> sum = 0;
  float all = 0;
  for (const Direction& d : directions) {
    sum += std::polar(d.length, 4 * d.degrees / kDegrees);
    all += d.length;
  }
  const float middle = std::arg(sum) * kDegrees / 4;
  float agreeing = 0, apart = 0;
  for (const Direction& d : directions) {
    const float difference = within_a_quarter(d.degrees - middle);
    if (std::fabs(difference) > kAgree) continue;
    agreeing += d.length;
    apart += difference * d.length;
  }
  if (agreeing < kMost * all) return 0;
  const float tilt = within_a_quarter(middle + apart / agreeing);
  return std::fabs(tilt) < kLevel ? 0 : tilt;
}

Levelled levelled(const cv::Mat& picture, float tilt) {
  const float c = std::cos(tilt / kDegrees), s = std::sin(tilt / kDegrees);
  const float w = static_cast<float>(picture.cols), h = static_cast<float>(picture.rows);
  const cv::Size size(static_cast<int>(std::ceil(w * std::fabs(c) + h * std::fabs(s))),
                      static_cast<int>(std::ceil(w * std::fabs(s) + h * std::fabs(c))));
  // A pixel of the level picture lies `tilt` degrees further clockwise in the other; the centres
  // are one point.
  const float x = static_cast<float>(size.width - 1) / 2,
              y = static_cast<float>(size.height - 1) / 2;
  Levelled out;
  out.back = cv::Matx23f(c, -s, (w - 1) / 2 - c * x + s * y, s, c, (h - 1) / 2 - s * x - c * y);
  cv::warpAffine(picture, out.picture, out.back, size, cv::INTER_LINEAR | cv::WARP_INVERSE_MAP,
                 cv::BORDER_CONSTANT, ground_of(picture));
  return out;
}

Quad moved(const Quad& quad, const cv::Matx23f& by) {
  Quad out;
  for (std::size_t i = 0; i < quad.size(); ++i) {
    out[i] = {by(0, 0) * quad[i].x + by(0, 1) * quad[i].y + by(0, 2),
              by(1, 0) * quad[i].x + by(1, 1) * quad[i].y + by(1, 2)};
  }
  return out;
}

float length_of(const std::vector<Box>& boxes) {
  float length = 0;
  for (const Box& box : boxes) length += std::max(quad_width(box.quad), quad_height(box.quad));
  return length;
}

}  // namespace spirkiln::ocr
