// SPDX-License-Identifier: Apache-2.0
#include "ocr/geometry.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace spirkiln::ocr {
namespace {

float distance(const cv::Point2f& a, const cv::Point2f& b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

}  // namespace

float quad_width(const Quad& q) { return std::max(distance(q[0], q[1]), distance(q[2], q[3])); }
float quad_height(const Quad& q) { return std::max(distance(q[1], q[2]), distance(q[3], q[0])); }

Quad ordered_corners(const cv::RotatedRect& rect) {
  Quad quad;
  rect.points(quad.data());
  // minAreaRect's corners go round in one direction, which differs between releases of OpenCV.
  const cv::Point2f a = quad[1] - quad[0], b = quad[2] - quad[1];
  if (a.x * b.y - a.y * b.x < 0) std::reverse(quad.begin(), quad.end());
  int best = 0;
  for (int i = 0; i < 4; ++i) {
    const auto slope = [&](int k) {
      const cv::Point2f edge = quad[(k + 1) % 4] - quad[k];
      const float length = std::max(1e-6f, std::hypot(edge.x, edge.y));
      return edge.x / length;
    };
    if (slope(i) > slope(best)) best = i;
  }
  return turned(quad, best);
}

Quad turned(const Quad& quad, int quarter_turns) {
  Quad out;
  for (int i = 0; i < 4; ++i) out[i] = quad[((i + quarter_turns) % 4 + 4) % 4];
  return out;
}

float wrap_degrees(float angle) {
  angle = std::fmod(angle, 360.0f);
  if (angle > 180.0f) angle -= 360.0f;
  if (angle <= -180.0f) angle += 360.0f;
  return angle;
}

float quad_angle(const Quad& q) {
  const cv::Point2f along = (q[1] - q[0]) + (q[2] - q[3]);
  return wrap_degrees(std::atan2(along.y, along.x) * 180.0f / static_cast<float>(CV_PI));
}

cv::Mat as_mat(const Picture& picture) {
  return cv::Mat(static_cast<int>(picture.height), static_cast<int>(picture.width), CV_8UC3,
                 const_cast<std::uint8_t*>(picture.bgr.data()));
}

cv::Mat crop_quad(const cv::Mat& picture, const Quad& quad) {
  int width = static_cast<int>(std::lround(quad_width(quad)));
  int height = static_cast<int>(std::lround(quad_height(quad)));
  if (width < 1 || height < 1) return {};
  cv::Rect around = cv::boundingRect(std::vector<cv::Point2f>(quad.begin(), quad.end()));
  around.x -= 4, around.y -= 4, around.width += 8, around.height += 8;
  around &= cv::Rect(0, 0, picture.cols, picture.rows);
  if (around.empty()) return {};
  // warpPerspective takes 32767 pixels a side: only the part around the quad is handed on, and one
  // that is still longer is scaled down.
  constexpr int kLongest = 32000;
  cv::Mat part = picture(around);
  Quad from = quad;
  const cv::Point2f origin(static_cast<float>(around.x), static_cast<float>(around.y));
  for (cv::Point2f& p : from) p -= origin;
  if (std::max(around.width, around.height) > kLongest) {
    const double shrink = static_cast<double>(kLongest) / std::max(around.width, around.height);
    const cv::Size size(std::max(1, static_cast<int>(around.width * shrink)),
                        std::max(1, static_cast<int>(around.height * shrink)));
    cv::Mat smaller;
    cv::resize(part, smaller, size, 0, 0, cv::INTER_AREA);
    part = smaller;
    for (cv::Point2f& p : from) {
      p.x *= static_cast<float>(size.width) / static_cast<float>(around.width);
      p.y *= static_cast<float>(size.height) / static_cast<float>(around.height);
    }
    width = std::max(1, static_cast<int>(std::lround(quad_width(from))));
    height = std::max(1, static_cast<int>(std::lround(quad_height(from))));
  }
  const float w = static_cast<float>(width), h = static_cast<float>(height);
  const Quad to = {cv::Point2f(0, 0), cv::Point2f(w, 0), cv::Point2f(w, h), cv::Point2f(0, h)};
  cv::Mat crop;
  cv::warpPerspective(part, crop, cv::getPerspectiveTransform(from.data(), to.data()),
                      {width, height}, cv::INTER_CUBIC, cv::BORDER_REPLICATE);
  return crop;
}

cv::Mat scaled(const cv::Mat& picture, cv::Size size) {
  if (picture.size() == size) return picture;
  const bool shrinks = size.width < picture.cols && size.height < picture.rows;
  cv::Mat out;
  cv::resize(picture, out, size, 0, 0, shrinks ? cv::INTER_AREA : cv::INTER_LINEAR);
  return out;
}

}  // namespace spirkiln::ocr
