// SPDX-License-Identifier: Apache-2.0
#include "ocr/recognise.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "fake_nets.hpp"

using namespace spirkiln;
using namespace spirkiln::ocr;
using spirkiln::test::fake;
using spirkiln::test::spells_pixels;

namespace {

Dictionary letters() { return *Dictionary::from_text("a\nb\nc\n \n字", "letters"); }

// Steps by hand: classes with probability 0.5, 0.6, ...
Reading read_steps(std::vector<std::uint32_t> classes, std::vector<float> probabilities) {
  Steps steps;
  steps.t = static_cast<std::uint32_t>(classes.size());
  steps.classes = std::move(classes);
  steps.probabilities = std::move(probabilities);
  return collapse(steps, letters());
}

cv::Mat line_picture(int width, int height, int seed) {
  cv::Mat out(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto v = static_cast<std::uint8_t>((x * 7 + seed * 31 + (x / 9) * 13) % 251);
      out.at<cv::Vec3b>(y, x) = {v, v, v};
    }
  }
  return out;
}

}  // namespace

TEST_CASE("CTC drops repeats, then blanks") {
  CHECK(read_steps({0, 1, 1, 0, 1, 2, 2, 0}, {1, 1, 1, 1, 1, 1, 1, 1}).text == "aab");
  CHECK(read_steps({}, {}).text.empty());
  CHECK(read_steps({0, 0, 0}, {1, 1, 1}).text.empty());
  CHECK(read_steps({3, 6, 3}, {1, 1, 1}).text == "c c");
  CHECK(read_steps({5, 0, 5}, {1, 1, 1}).text == "字字");
}

TEST_CASE("a line's score is the mean of the characters that were kept") {
  // The first of repeated steps counts; blanks do not.
  const Reading reading = read_steps({0, 1, 1, 0, 2}, {0.9f, 0.8f, 0.2f, 0.9f, 0.6f});
  CHECK(reading.text == "ab");
  CHECK(std::fabs(reading.score - 0.7f) < 1e-6f);
  CHECK(read_steps({0, 0}, {0.9f, 0.9f}).score == 0.0f);
}

TEST_CASE("the best class of each step, the first of equals") {
  const std::vector<float> values = {0.1f, 0.7f, 0.2f, /**/ 0.5f, 0.5f, 0.0f, /**/ 0, 0, 1};
  const Steps steps = best_classes(values, 3, 3);
  CHECK(steps.classes == std::vector<std::uint32_t>{1, 0, 2});
  CHECK(steps.probabilities == std::vector<float>{0.7f, 0.5f, 1.0f});
}

TEST_CASE("a line says the same alone, in a crowd, and in any batch size") {
  const std::uint32_t classes = static_cast<std::uint32_t>(letters().classes());
  std::vector<cv::Mat> crops;
  for (int i = 0; i < 23; ++i) crops.push_back(line_picture(40 + i * 37, 20 + i, i));
  crops.push_back(line_picture(5000, 20, 99));  // longer than the widest input
  OcrOptions options;
  std::vector<std::string> alone;
  for (const cv::Mat& crop : crops) {
    auto net = spells_pixels(classes);
    const auto one = recognise(*net, letters(), std::vector<cv::Mat>{crop}, options);
    REQUIRE(one.ok());
    alone.push_back(one->readings[0].text);
    CHECK_FALSE(alone.back().empty());
  }
  for (const std::uint32_t batch : {1u, 2u, 6u, 16u}) {
    options.batch = batch;
    auto net = spells_pixels(classes);
    const auto all = recognise(*net, letters(), crops, options);
    REQUIRE(all.ok());
    for (std::size_t i = 0; i < crops.size(); ++i) {
      CAPTURE(batch, i);
      CHECK(all->readings[i].text == alone[i]);
    }
    for (const auto& shape : net->shapes()) CHECK(shape.n <= batch);
  }
}

TEST_CASE("few widths are planned for, and none is too wide") {
  std::set<std::uint32_t> widths;
  for (std::uint32_t w = 1; w < 4000; ++w) {
    const std::uint32_t bucket = bucket_width(w);
    widths.insert(bucket);
    CHECK(bucket % 32 == 0);
    if (w <= 2560) CHECK(bucket >= w);
    CHECK(bucket <= 2560);
    if (w > 160 && w <= 2560) CHECK(bucket < w * 4 / 3 + 32);  // at most a third is padding
  }
  CHECK(widths.size() <= 16);
}

TEST_CASE("lines of any shape are taken") {
  auto net = spells_pixels(static_cast<std::uint32_t>(letters().classes()));
  const cv::Size size = GENERATE(cv::Size(1, 1), cv::Size(2000, 3), cv::Size(3, 2000),
                                 cv::Size(60000, 2), cv::Size(1, 48));
  const auto out = recognise(*net, letters(),
                             std::vector<cv::Mat>{line_picture(size.width, size.height, 1)}, {});
  CHECK(out.ok());
  for (const auto& shape : net->shapes()) {
    CHECK(shape.h == 48);
    CHECK(shape.w <= 2560);
  }
}

TEST_CASE("a model that answers nonsense is an error") {
  const std::vector<cv::Mat> crops = {line_picture(100, 30, 1)};
  const auto wrong_size = fake([](const Pictures& p) -> Result<TensorF32> {
    return TensorF32{p.n, 1, 1, 5, std::vector<float>(std::size_t{p.n} * 5)};
  });
  CHECK(recognise(*wrong_size, letters(), crops, {}).error().code == ErrorCode::kUnsupported);
  CHECK(orient(*wrong_size, crops, {}).error().code == ErrorCode::kUnsupported);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const auto not_finite = fake([bad](const Pictures& p) -> Result<TensorF32> {
      TensorF32 out{p.n, 1, p.w / 8, 7, std::vector<float>(std::size_t{p.n} * (p.w / 8) * 7, 0.1f)};
      out.values[10] = bad;
      return out;
    });
    CHECK(recognise(*not_finite, letters(), crops, {}).error().code == ErrorCode::kNotFinite);
  }
  const auto failing = fake([](const Pictures&) -> Result<TensorF32> {
    return Error{ErrorCode::kVulkan, "the device is gone"};
  });
  CHECK(recognise(*failing, letters(), crops, {}).error().message == "the device is gone");
}

TEST_CASE("orientation looks at the beginning of a long line") {
  cv::Mat line(20, 1000, CV_8UC3, cv::Scalar(0, 0, 0));
  line.colRange(0, 80) = cv::Scalar(255, 255, 255);
  const auto net = fake([](const Pictures& p) -> Result<TensorF32> {
    CHECK(p.w == 192);
    CHECK(p.h == 48);
    // All pixels that are looked at are from the first 80 columns.
    const bool white = p.bytes[(std::size_t{10} * p.w + 180) * 4] > 200;
    return TensorF32{p.n, 1, 1, 2, {white ? 0.0f : 1.0f, white ? 1.0f : 0.0f}};
  });
  const auto out = orient(*net, std::vector<cv::Mat>{line}, {});
  REQUIRE(out.ok());
  CHECK(out->upside_down == std::vector<float>{1.0f});
}
