// SPDX-License-Identifier: Apache-2.0
// Pages that lie askew. Boxes and pictures are made here by the rotation's own formula.
#include "ocr/tilt.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "fake_nets.hpp"

using namespace spirkiln;
using namespace spirkiln::ocr;
using namespace spirkiln::test;

namespace {

// A box around a centre, turned clockwise, as detection gives it.
Box box(cv::Point2f centre, float width, float height, float degrees) {
  return {ordered_corners(cv::RotatedRect(centre, {width, height}, degrees)), 0.9f};
}

std::vector<Box> lines_at(float degrees, int count = 5) {
  std::vector<Box> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(box({200, 100.0f + 50 * static_cast<float>(i)}, 200, 20, degrees));
  }
  return out;
}

bool near(float a, float b, float by = 0.05f) { return std::fabs(a - b) < by; }

}  // namespace

TEST_CASE("the tilt that lines agree on") {
  for (const float degrees : {7.0f, -7.0f, 15.0f, 30.0f, -44.0f, 44.0f}) {
    CAPTURE(degrees);
    CHECK(near(common_tilt(lines_at(degrees)), degrees));
    CHECK(near(common_tilt(lines_at(degrees + 90)), degrees));  // lines downwards
  }
  std::vector<Box> noisy = lines_at(20, 6);
  noisy.push_back(box({50, 50}, 30, 25, -5));    // no direction
  noisy.push_back(box({60, 400}, 100, 20, -10));  // one that differs, short
  for (int i = 0; i < 4; ++i) noisy[i] = box({200, 200}, 200, 20, 20 + (i % 2 ? 2.0f : -2.0f));
  CHECK(near(common_tilt(noisy), 20, 0.5f));
}

TEST_CASE("no tilt where lines are few, level or differ") {
  CHECK(common_tilt({}) == 0);
  CHECK(common_tilt(lines_at(20, 2)) == 0);
  CHECK(common_tilt(lines_at(0)) == 0);
  CHECK(common_tilt(lines_at(90)) == 0);
  CHECK(common_tilt(lines_at(5)) == 0);
  std::vector<Box> scattered;
  for (const float degrees : {-30.0f, 10.0f, 40.0f, 0.0f, 20.0f}) {
    scattered.push_back(box({100, 100}, 200, 20, degrees));
  }
  CHECK(common_tilt(scattered) == 0);
  std::vector<Box> short_ones;
  for (int i = 0; i < 5; ++i) short_ones.push_back(box({100, 100}, 50, 20, 20));
  CHECK(common_tilt(short_ones) == 0);
}

TEST_CASE("a level picture has all of the picture, and the way back") {
  for (const float degrees : {30.0f, -17.0f, 45.0f}) {
    CAPTURE(degrees);
    cv::Mat picture(80, 200, CV_8UC3, cv::Scalar(255, 255, 255));
    const cv::Point2f dots[] = {{12, 10}, {187, 10}, {12, 69}, {187, 69}, {99, 40}};
    for (const cv::Point2f& dot : dots)
      cv::circle(picture, dot, 4, cv::Scalar(0, 0, 0), cv::FILLED);
    const Levelled level = levelled(picture, degrees);
    // Corners are ground, the colour of the border.
    CHECK(level.picture.at<cv::Vec3b>(0, 0) == cv::Vec3b(255, 255, 255));
    cv::Mat dark, labels, stats, centres;
    cv::cvtColor(level.picture, dark, cv::COLOR_BGR2GRAY);
    cv::compare(dark, 128, dark, cv::CMP_LT);
    REQUIRE(cv::connectedComponentsWithStats(dark, labels, stats, centres) == 6);  // and the ground
    for (int i = 1; i < 6; ++i) {
      const cv::Point2f at(static_cast<float>(centres.at<double>(i, 0)),
                           static_cast<float>(centres.at<double>(i, 1)));
      const cv::Point2f back = moved({at, at, at, at}, level.back)[0];
      float nearest = 1e9f;
      for (const cv::Point2f& dot : dots) {
        nearest = std::min(nearest, std::hypot(dot.x - back.x, dot.y - back.y));
      }
      CHECK(nearest < 0.5f);
    }
  }
}

TEST_CASE("lines of a tilted page are found level, and stand where they are") {
  // Four bars at 30 degrees on a page that detection scales down by more than two.
  cv::Mat page(1800, 2200, CV_8UC3, cv::Scalar(250, 250, 250));
  std::vector<cv::RotatedRect> bars;
  for (int i = 0; i < 4; ++i) {
    bars.emplace_back(
        cv::Point2f(1100.0f - 80 * static_cast<float>(i), 500.0f + 200 * static_cast<float>(i)),
        cv::Size2f(900, 60), 30.0f);
    cv::Point2f corners[4];
    bars.back().points(corners);
    std::vector<cv::Point> polygon(corners, corners + 4);
    cv::fillConvexPoly(page, polygon, cv::Scalar(10, 10, 10));
  }
  const auto net = dark_is_text();
  const auto found = detect(*net, page, OcrOptions{});
  REQUIRE(found.ok());
  CHECK(found->runs == 2);
  REQUIRE(found->boxes.size() == 4);
  // The second input is the level page, wider than the first.
  REQUIRE(net->shapes().size() == 2);
  CHECK(net->shapes()[1].h > net->shapes()[0].h);
  for (const cv::RotatedRect& bar : bars) {
    const Box* at = nullptr;
    for (const Box& one : found->boxes) {
      const cv::Point2f centre = (one.quad[0] + one.quad[1] + one.quad[2] + one.quad[3]) * 0.25f;
      if (std::hypot(centre.x - bar.center.x, centre.y - bar.center.y) < 6) at = &one;
    }
    REQUIRE(at != nullptr);
    CHECK(near(quad_angle(at->quad), 30, 0.5f));
    CHECK(quad_width(at->quad) > 900);
    CHECK(quad_width(at->quad) < 900 + 4 * 60);
  }
}
