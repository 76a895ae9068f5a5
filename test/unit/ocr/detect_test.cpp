// SPDX-License-Identifier: Apache-2.0
// Boxes out of maps whose answer is known by geometry.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "ocr/detect.hpp"
#include "ocr/merge.hpp"

using namespace spirkiln;
using namespace spirkiln::ocr;

namespace {

// A filled rectangle of `value` on 0.
void draw(cv::Mat& map, const cv::RotatedRect& rect, float value) {
  cv::Point2f corners[4];
  rect.points(corners);
  std::vector<cv::Point> rounded;
  for (const cv::Point2f& p : corners) rounded.emplace_back(cvRound(p.x), cvRound(p.y));
  cv::fillConvexPoly(map, rounded, cv::Scalar(value));
}

DetectPlan plain_plan(cv::Size size) {
  DetectPlan plan;
  plan.scaled = plan.input = size;
  return plan;
}

Box box_at(float x, float y, float w, float h, float score = 0.9f) {
  return {
      {cv::Point2f(x, y), cv::Point2f(x + w, y), cv::Point2f(x + w, y + h), cv::Point2f(x, y + h)},
      score};
}

}  // namespace

TEST_CASE("a box is its rectangle, grown by area * ratio / perimeter on each side") {
  const float angle = GENERATE(-20.0f, 0.0f, 3.0f, 20.0f, 40.0f);
  const float width = GENERATE(60.0f, 200.0f), height = GENERATE(12.0f, 30.0f);
  CAPTURE(angle, width, height);
  cv::Mat map = cv::Mat::zeros(320, 320, CV_32F);
  draw(map, cv::RotatedRect({160, 160}, {width, height}, angle), 0.9f);
  OcrOptions options;
  options.unclip_ratio = 1.5f;
  const auto boxes = boxes_of_map(map, plain_plan(map.size()), map.size(), options);
  REQUIRE(boxes.size() == 1);
  const float grow = width * height * 1.5f / (2 * (width + height));
  // Rounding of the drawn corners moves each edge by up to a pixel.
  CHECK(std::fabs(quad_width(boxes[0].quad) - (width + 2 * grow)) < 3.5f);
  CHECK(std::fabs(quad_height(boxes[0].quad) - (height + 2 * grow)) < 3.5f);
  CHECK(std::fabs(quad_angle(boxes[0].quad) - angle) < 2.0f);
  const auto& q = boxes[0].quad;
  const cv::Point2f centre = (q[0] + q[1] + q[2] + q[3]) * 0.25f;
  CHECK(std::hypot(centre.x - 160, centre.y - 160) < 1.5f);
  // Of the mean over the box, a ring of one pixel may lie outside.
  const float ring = 2 * (width + height) / (width * height);
  CHECK(boxes[0].score <= 0.9f + 1e-5f);
  CHECK(boxes[0].score >= 0.9f * (1 - ring));
}

TEST_CASE("boxes that are weak, thin or many are left out") {
  OcrOptions options;
  options.box_threshold = 0.6f;
  cv::Mat map = cv::Mat::zeros(320, 320, CV_32F);
  draw(map, cv::RotatedRect({80, 80}, {100, 20}, 0), 0.5f);    // above the mask, below the score
  draw(map, cv::RotatedRect({200, 200}, {100, 1}, 0), 0.95f);  // two pixels high
  CHECK(boxes_of_map(map, plain_plan(map.size()), map.size(), options).empty());
  draw(map, cv::RotatedRect({160, 260}, {100, 20}, 0), 0.95f);
  CHECK(boxes_of_map(map, plain_plan(map.size()), map.size(), options).size() == 1);

  cv::Mat many = cv::Mat::zeros(320, 320, CV_32F);
  for (int y = 10; y < 310; y += 20) {
    for (int x = 10; x < 310; x += 20) many(cv::Rect(x, y, 8, 8)) = 0.9f;
  }
  options.max_boxes = 50;
  CHECK(boxes_of_map(many, plain_plan(many.size()), many.size(), options).size() == 50);
}

TEST_CASE("boxes of a map of bytes are those of its probabilities") {
  OcrOptions options;
  cv::Mat map(320, 320, CV_32F);
  for (int y = 0; y < map.rows; ++y) {
    for (int x = 0; x < map.cols; ++x) {  // hills of many heights, none at the threshold itself
      map.at<float>(y, x) = 0.0003f + 0.499f * (1 + std::sin(0.11f * x) * std::sin(0.13f * y));
    }
  }
  cv::Mat bytes;
  map.convertTo(bytes, CV_8U, 255);
  options.mask_threshold = 0.72f;  // 183.6 of 255
  options.box_threshold = 0.1f;
  // Pixels that rounding takes to the other side of the threshold.
  for (int y = 0; y < map.rows; ++y) {
    for (int x = 0; x < map.cols; ++x) {
      float& v = map.at<float>(y, x);
      if (std::fabs(v - options.mask_threshold) < 0.003f) v = bytes.at<std::uint8_t>(y, x) / 255.0f;
    }
  }
  const auto of_floats = boxes_of_map(map, plain_plan(map.size()), map.size(), options);
  const auto of_bytes = boxes_of_map(bytes, plain_plan(map.size()), map.size(), options);
  REQUIRE(of_floats.size() > 20);
  REQUIRE(of_bytes.size() == of_floats.size());
  for (std::size_t i = 0; i < of_bytes.size(); ++i) {
    for (int k = 0; k < 4; ++k) CHECK(of_bytes[i].quad[k] == of_floats[i].quad[k]);
    CHECK(std::fabs(of_bytes[i].score - of_floats[i].score) <= 0.5f / 255);
  }
  // 0.3, the default, is 76.5 of 255: a probability just above it is 77, just below 76.
  for (const auto& [byte, boxes] : {std::pair{77, 1u}, {76, 0u}}) {
    cv::Mat flat = cv::Mat::zeros(320, 320, CV_8U);
    flat(cv::Rect(100, 100, 100, 20)) = byte;
    OcrOptions low;
    low.box_threshold = 0.1f;
    CHECK(boxes_of_map(flat, plain_plan(flat.size()), flat.size(), low).size() == boxes);
  }
}

TEST_CASE("detection asks a graph that gives bytes for them") {
  class Bytes final : public Net {
   public:
    Result<TensorF32> run(const Pictures&) override {
      return Error{ErrorCode::kUnsupported, "floats were asked for"};
    }
    bool gives_bytes() const override { return true; }
    Result<TensorU8> run_bytes(const Pictures& p) override {
      TensorU8 map{p.n, p.h, p.w, 1, std::vector<std::uint8_t>(std::size_t{p.h} * p.w)};
      cv::Mat(static_cast<int>(p.h), static_cast<int>(p.w), CV_8U,
              map.values.data())(cv::Rect(40, 60, 200, 24)) = 230;
      if (wrong) map.values.pop_back();
      return map;
    }
    bool wrong = false;
  };
  Bytes net;
  const cv::Mat picture(640, 640, CV_8UC3, cv::Scalar(255, 255, 255));
  const auto found = detect(net, picture, {});
  REQUIRE(found.ok());
  REQUIRE(found->boxes.size() == 1);
  CHECK(found->boxes[0].score > 200.0f / 255);
  net.wrong = true;
  CHECK_FALSE(detect(net, picture, {}).ok());
}

TEST_CASE("boxes are in pixels of the picture, padding and scale taken off") {
  cv::Mat map = cv::Mat::zeros(256, 256, CV_32F);
  map(cv::Rect(48 + 40, 32 + 20, 80, 16)) = 0.95f;
  DetectPlan plan;
  plan.scaled = {160, 120};
  plan.pad = {48, 32};
  plan.input = map.size();
  OcrOptions options;
  options.unclip_ratio = 0;
  const auto boxes = boxes_of_map(map, plan, {320, 240}, options);  // scaled by a half
  REQUIRE(boxes.size() == 1);
  CHECK(std::fabs(boxes[0].quad[0].x - 80) < 2);
  CHECK(std::fabs(boxes[0].quad[0].y - 40) < 2);
  CHECK(std::fabs(boxes[0].quad[2].x - 240) < 3);
  CHECK(std::fabs(boxes[0].quad[2].y - 72) < 3);
}

TEST_CASE("every picture gets an input that the graph takes and memory allows") {
  OcrOptions options;
  const cv::Size size =
      GENERATE(cv::Size(1, 1), cv::Size(3, 2000), cv::Size(2000, 3), cv::Size(1167, 54),
               cv::Size(700, 30), cv::Size(65, 11), cv::Size(7200, 5400), cv::Size(100000, 2),
               cv::Size(960, 960), cv::Size(350, 350), cv::Size(1 << 20, 1));
  CAPTURE(size.width, size.height);
  for (const float zoom : {first_zoom(size, options), 4.0f * first_zoom(size, options)}) {
    const DetectPlan plan = plan_detection(size, zoom, options);
    CHECK(plan.input.width % 32 == 0);
    CHECK(plan.input.height % 32 == 0);
    CHECK(plan.scaled.width >= 1);
    CHECK(plan.scaled.height >= 1);
    CHECK(plan.input.width >= plan.scaled.width + plan.pad.x);
    CHECK(plan.input.height >= plan.scaled.height + plan.pad.y);
    CHECK(static_cast<double>(plan.input.width) * plan.input.height <=
          std::max<double>(options.detect_max_pixels, 32 * 32));
  }
}

TEST_CASE("the longer side decides the zoom") {
  OcrOptions options;
  options.detect_min_side = 640;
  options.detect_max_side = 960;
  options.detect_max_zoom = 2;
  CHECK(first_zoom({1920, 100}, options) == 0.5f);
  CHECK(first_zoom({800, 900}, options) == 1.0f);
  CHECK(first_zoom({320, 400}, options) == 1.6f);
  CHECK(first_zoom({50, 20}, options) == 2.0f);
}

TEST_CASE("corners begin at the top left and go clockwise") {
  const float angle = GENERATE(-40.0f, -10.0f, 0.0f, 10.0f, 40.0f);
  const Quad q = ordered_corners(cv::RotatedRect({100, 100}, {80, 20}, angle));
  CAPTURE(angle);
  CHECK(std::fabs(quad_angle(q) - angle) < 0.01f);
  CHECK(std::fabs(quad_width(q) - 80) < 0.01f);
  // Clockwise on the screen: the cross product of neighbouring edges is positive.
  const cv::Point2f a = q[1] - q[0], b = q[2] - q[1];
  CHECK(a.x * b.y - a.y * b.x > 0);
  CHECK(std::fabs(std::fabs(quad_angle(turned(q, 1)) - std::fabs(angle + 90))) < 0.01f);
  CHECK(turned(turned(q, 3), 1) == q);
}

TEST_CASE("a crop turns its text upright") {
  // Left half dark, right half light, drawn at an angle.
  const float angle = GENERATE(0.0f, 17.0f, 90.0f, 180.0f, -90.0f);
  CAPTURE(angle);
  cv::Mat picture(300, 300, CV_8UC3, cv::Scalar(128, 128, 128));
  const float r = angle * static_cast<float>(CV_PI) / 180;
  const cv::Point2f along(std::cos(r), std::sin(r)), down(-std::sin(r), std::cos(r));
  const cv::Point2f centre(150, 150);
  for (int y = 0; y < 300; ++y) {
    for (int x = 0; x < 300; ++x) {
      const cv::Point2f p = cv::Point2f(static_cast<float>(x), static_cast<float>(y)) - centre;
      const float u = p.dot(along), v = p.dot(down);
      if (std::fabs(u) < 60 && std::fabs(v) < 15) {
        picture.at<cv::Vec3b>(y, x) = u < 0 ? cv::Vec3b(0, 0, 0) : cv::Vec3b(255, 255, 255);
      }
    }
  }
  const Quad quad = {centre - along * 55 - down * 12, centre + along * 55 - down * 12,
                     centre + along * 55 + down * 12, centre - along * 55 + down * 12};
  const cv::Mat crop = crop_quad(picture, quad);
  REQUIRE(crop.size() == cv::Size(110, 24));
  CHECK(crop.at<cv::Vec3b>(12, 20)[0] < 10);
  CHECK(crop.at<cv::Vec3b>(12, 90)[0] > 245);
  CHECK(crop_quad(picture, Quad{}).empty());
}

TEST_CASE("parts of a line that runs downwards become one box") {
  // 40 high text; 15 pixels between the parts.
  const auto joined = merged({box_at(100, 100, 40, 200), box_at(101, 315, 40, 150)});
  REQUIRE(joined.size() == 1);
  CHECK(std::fabs(quad_height(joined[0].quad) - 365) < 1.5f);
  // Three parts, the middle one last, a lone character at the end.
  CHECK(merged({box_at(100, 100, 40, 100), box_at(100, 330, 40, 100), box_at(102, 445, 36, 30),
                box_at(100, 215, 40, 100)})
            .size() == 1);
}

TEST_CASE("boxes of different lines stay apart") {
  CHECK(merged({box_at(100, 100, 200, 40), box_at(100, 145, 200, 40)}).size() == 2);  // below
  CHECK(merged({box_at(100, 100, 40, 200), box_at(150, 100, 40, 200)}).size() == 2);  // beside
  CHECK(merged({box_at(100, 100, 40, 200), box_at(100, 330, 40, 150)}).size() == 2);  // too far
  CHECK(merged({box_at(100, 100, 40, 200), box_at(92, 305, 80, 150)}).size() == 2);  // other size
  CHECK(merged({box_at(100, 100, 200, 40), box_at(302, 100, 200, 40)}).size() == 2);  // cells
  CHECK(merged({box_at(100, 100, 200, 40), box_at(270, 101, 200, 40)}).size() == 1);  // overlap
}
