// SPDX-License-Identifier: Apache-2.0
// The whole pipeline on nets whose answers are known.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>
#include <opencv2/imgproc.hpp>
#include <thread>

#include "fake_nets.hpp"
#include "spirkiln/ocr.hpp"

using namespace spirkiln;
using namespace spirkiln::test;

namespace {

Dictionary letters() {
  std::string text;
  for (char c = 'a'; c <= 'z'; ++c) text += std::string(1, c) + "\n";
  return *Dictionary::from_text(text, "letters");
}

std::shared_ptr<FakeNet> reads_pixels() {
  return spells_pixels(static_cast<std::uint32_t>(letters().classes()));
}

Picture to_picture(const cv::Mat& mat) {
  Picture p;
  p.width = static_cast<std::uint32_t>(mat.cols);
  p.height = static_cast<std::uint32_t>(mat.rows);
  p.bgr.assign(mat.data, mat.data + mat.total() * 3);
  return p;
}

// Dark bars on white.
Picture bars(int width, int height, const std::vector<cv::Rect>& where) {
  cv::Mat mat(height, width, CV_8UC3, cv::Scalar(255, 255, 255));
  for (const cv::Rect& bar : where) mat(bar) = cv::Scalar(20, 20, 20);
  return to_picture(mat);
}

}  // namespace

TEST_CASE("three bars are three lines, in reading order, where they are") {
  auto reader = OcrReader::create({dark_is_text(), always_upright(), reads_pixels()}, letters());
  REQUIRE(reader.ok());
  const auto page =
      reader->read(bars(800, 600, {{100, 400, 300, 20}, {450, 100, 200, 20}, {100, 100, 250, 20}}));
  REQUIRE(page.ok());
  REQUIRE(page->lines.size() == 3);
  CHECK(page->width == 800);
  const auto centre = [](const OcrLine& l) {
    return cv::Point2f((l.box[0].x + l.box[2].x) / 2, (l.box[0].y + l.box[2].y) / 2);
  };
  CHECK(std::fabs(centre(page->lines[0]).x - 225) < 4);
  CHECK(std::fabs(centre(page->lines[1]).x - 550) < 4);
  CHECK(std::fabs(centre(page->lines[2]).y - 410) < 4);
  for (const OcrLine& line : page->lines) {
    CHECK(std::fabs(line.angle) < 1);
    CHECK(line.rotation == 0);
    CHECK(line.score > 0.85f);
    CHECK(line.box_score > 0.9f);
    CHECK_FALSE(line.text.empty());
  }
  CHECK(page->timings.detect_runs == 1);
}

TEST_CASE("the classifier turns a line, a tall box runs downwards") {
  const auto over = fake([](const Pictures& p) -> Result<TensorF32> {
    TensorF32 out{p.n, 1, 1, 2, {}};
    for (std::uint32_t i = 0; i < p.n; ++i) out.values.insert(out.values.end(), {0.0f, 1.0f});
    return out;
  });
  const Picture flat = bars(800, 600, {{100, 300, 300, 20}});
  const Picture tall = bars(800, 600, {{300, 100, 20, 300}});
  auto upright = OcrReader::create({dark_is_text(), always_upright(), reads_pixels()}, letters());
  auto turned = OcrReader::create({dark_is_text(), over, reads_pixels()}, letters());
  CHECK(upright->read(flat)->lines.at(0).rotation == 0);
  CHECK(turned->read(flat)->lines.at(0).rotation == 180);
  CHECK(upright->read(tall)->lines.at(0).rotation == 90);
  CHECK(turned->read(tall)->lines.at(0).rotation == 270);
  // Corner 0 is where the text begins.
  const OcrLine line = turned->read(flat)->lines.at(0);
  CHECK(line.box[0].x > line.box[1].x);
  CHECK(line.box[0].y > line.box[3].y);
}

TEST_CASE("a line that contradicts its page is read both ways round, the better one counts") {
  // Six level bars. The last one's left end is darker; the classifier is sure that it, alone, is
  // upside down. The recogniser is surer of lines whose left end is the darker one, or less sure.
  Picture page = bars(800, 600,
                      {{100, 50, 300, 20},
                       {100, 120, 300, 20},
                       {100, 190, 300, 20},
                       {100, 260, 300, 20},
                       {100, 330, 300, 20}});
  for (std::uint32_t y = 400; y < 420; ++y) {
    for (std::uint32_t x = 100; x < 400; ++x) {
      for (int c = 0; c < 3; ++c) {
        page.bgr[(std::size_t{y} * page.width + x) * 3 + c] = x < 250 ? 50 : 90;
      }
    }
  }
  // Mean of the dark pixels between two columns of the first line of a batch, 0 without any.
  const auto darkness = [](const Pictures& p, std::uint32_t n, std::uint32_t from,
                           std::uint32_t to) {
    double sum = 0, count = 0;
    for (std::uint32_t y = 0; y < p.h; ++y) {
      for (std::uint32_t x = from; x < to; ++x) {
        const std::uint8_t* pixel = &p.bytes[((std::size_t{n} * p.h + y) * p.w + x) * 4];
        if (pixel[3] != 0 && pixel[0] < 120) sum += pixel[0], ++count;
      }
    }
    return count > 0 ? sum / count : 0;
  };
  const auto classifier = fake([&](const Pictures& p) -> Result<TensorF32> {
    TensorF32 out{p.n, 1, 1, 2, {}};
    for (std::uint32_t i = 0; i < p.n; ++i) {
      const float over = darkness(p, i, 0, p.w) > 40 ? 0.999f : 0.001f;
      out.values.insert(out.values.end(), {1 - over, over});
    }
    return out;
  });
  const auto classes = static_cast<std::uint32_t>(letters().classes());
  const bool right_way = GENERATE(true, false);
  const auto recogniser = fake([&](const Pictures& p) -> Result<TensorF32> {
    TensorF32 out{p.n, 1, p.w / 8, classes, {}};
    out.values.assign(std::size_t{p.n} * out.w * classes, 0.001f);
    for (std::uint32_t i = 0; i < p.n; ++i) {
      const double left = darkness(p, i, 0, 100), right = darkness(p, i, 200, p.w);
      const bool turned_bar = left > right + 20;  // begins with its lighter end
      float* steps = &out.values[std::size_t{i} * out.w * classes];
      for (std::uint32_t t = 0; t < out.w; ++t) steps[t * classes] = 0.9f;
      for (std::uint32_t t = 2; t < 10; t += 2) {
        steps[t * classes] = 0.0f;
        steps[t * classes + 1 + (turned_bar ? 1 : 0)] = turned_bar == right_way ? 0.9f : 0.99f;
      }
    }
    return out;
  });
  const auto reader = OcrReader::create({dark_is_text(), classifier, recogniser}, letters());
  const auto read = reader->read(page);
  REQUIRE(read.ok());
  REQUIRE(read->lines.size() == 6);
  for (std::size_t i = 0; i < 5; ++i) CHECK(read->lines[i].rotation == 0);
  CHECK(read->lines[5].rotation == (right_way ? 0 : 180));
  CHECK(read->lines[5].text == (right_way ? "aaaa" : "bbbb"));
}

TEST_CASE("without a classifier all lines are taken as they lie") {
  auto reader = OcrReader::create({dark_is_text(), nullptr, reads_pixels()}, letters());
  REQUIRE(reader.ok());
  CHECK(reader->read(bars(800, 600, {{100, 300, 300, 20}}))->lines.size() == 1);
  CHECK_FALSE(OcrReader::create({nullptr, nullptr, reads_pixels()}, letters()).ok());
  CHECK_FALSE(OcrReader::create({dark_is_text(), nullptr, nullptr}, letters()).ok());
}

TEST_CASE("a picture without text is a page without lines") {
  auto reader = OcrReader::create({dark_is_text(), always_upright(), reads_pixels()}, letters());
  const auto page = reader->read(bars(500, 400, {}));
  REQUIRE(page.ok());
  CHECK(page->lines.empty());
}

TEST_CASE("a strip in which nothing is found is read as one line") {
  const auto finds_nothing = fake([](const Pictures& p) -> Result<TensorF32> {
    return TensorF32{p.n, p.h, p.w, 1, std::vector<float>(std::size_t{p.n} * p.h * p.w, 0.01f)};
  });
  auto reader = OcrReader::create({finds_nothing, always_upright(), reads_pixels()}, letters());
  const auto strip = reader->read(bars(600, 40, {{10, 5, 580, 30}}));
  REQUIRE(strip.ok());
  REQUIRE(strip->lines.size() == 1);
  CHECK(strip->lines[0].box[2].x == 600);
  CHECK(reader->read(bars(600, 400, {{10, 5, 580, 30}}))->lines.empty());  // a page is not
  const auto one = reader->read_line(bars(600, 400, {{10, 5, 580, 30}}));
  REQUIRE(one.ok());
  CHECK(one->lines.size() == 1);
}

TEST_CASE("pictures of any shape give an answer") {
  auto reader = OcrReader::create({dark_is_text(), always_upright(), reads_pixels()}, letters());
  const cv::Size size =
      GENERATE(cv::Size(1, 1), cv::Size(1, 500), cv::Size(500, 1), cv::Size(3, 2000),
               cv::Size(2000, 3), cv::Size(40000, 2), cv::Size(7200, 5400));
  CAPTURE(size.width, size.height);
  const auto page = reader->read(to_picture(cv::Mat(size, CV_8UC3, cv::Scalar(20, 20, 20))));
  CHECK(page.ok());
}

TEST_CASE("what is lower than any font is not read") {
  auto net = reads_pixels();
  auto reader = OcrReader::create({dark_is_text(), always_upright(), net}, letters());
  const cv::Size size = GENERATE(cv::Size(2000, 3), cv::Size(3, 2000), cv::Size(30000, 1),
                                 cv::Size(65, 4), cv::Size(100000, 4));
  CAPTURE(size.width, size.height);
  cv::Mat stripes(size, CV_8UC3, cv::Scalar(20, 20, 20));
  for (int x = 0; x < size.width; x += 2) stripes.col(x) = cv::Scalar(90, 90, 90);
  const Picture dark = to_picture(stripes);
  CHECK(reader->read(dark)->lines.empty());
  CHECK(reader->read_line(dark)->lines.empty());
  CHECK(net->shapes().empty());
  // Five rows may be a font of pixels, and what is short a dash.
  CHECK(reader->read_line(bars(100, 5, {{10, 1, 10, 3}})).ok());
  CHECK(net->shapes().size() == 1);
  CHECK(reader->read_line(bars(12, 3, {{1, 1, 10, 1}})).ok());
  CHECK(net->shapes().size() == 2);
}

TEST_CASE("what has one colour is not read") {
  auto net = reads_pixels();
  auto reader = OcrReader::create({dark_is_text(), always_upright(), net}, letters());
  CHECK(reader->read(to_picture(cv::Mat(20, 2000, CV_8UC3, cv::Scalar(9, 20, 30))))->lines.empty());
  CHECK(reader->read_line(bars(500, 30, {}))->lines.empty());
  CHECK(net->shapes().empty());
  cv::Mat almost(30, 500, CV_8UC3, cv::Scalar(9, 20, 30));
  almost.at<cv::Vec3b>(29, 499)[2] = 31;
  CHECK(reader->read_line(to_picture(almost)).ok());
  CHECK_FALSE(net->shapes().empty());
}

TEST_CASE("a line is read up to a length, and what is left out is said") {
  std::vector<std::string> said;
  OcrOptions options;
  options.message = [&](Severity severity, std::string_view text) {
    CHECK(severity == Severity::kWarning);
    said.emplace_back(text);
  };
  const bool down = GENERATE(false, true);
  CAPTURE(down);
  auto net = reads_pixels();
  auto reader = OcrReader::create({dark_is_text(), always_upright(), net}, letters(), options);
  // Stripes in the first 400 heights: 400 * 48 pixels, where 427 * 48 are read.
  cv::Mat strip(10, 100000, CV_8UC3, cv::Scalar(20, 20, 20));
  for (int x = 0; x < 4000; x += 40) strip(cv::Rect(x, 0, 20, 10)) = cv::Scalar(90, 90, 90);
  const auto page = reader->read_line(to_picture(down ? cv::Mat(strip.t()) : strip));
  REQUIRE(page.ok());
  REQUIRE(page->lines.size() == 1);
  REQUIRE(said.size() == 1);
  CHECK(said[0].starts_with("a line of 100000 x 10 pixels is longer than 427 times its height"));
  std::uint64_t columns = 0;
  for (const auto& shape : net->shapes()) columns += std::uint64_t{shape.n} * shape.w;
  // Cuts are looked for in the last quarter of each part, and inputs are wider than the parts.
  CHECK(columns >= 427 * 48);
  CHECK(columns <= 427 * 48 * 4 / 3 + 2560);
  // The box is what was read.
  const auto& box = page->lines[0].box;
  CHECK(std::fabs(std::hypot(box[1].x - box[0].x, box[1].y - box[0].y) - 4267) < 2);
}

TEST_CASE("boxes that are left out are spoken of") {
  std::vector<std::string> said;
  OcrOptions options;
  options.max_boxes = 2;
  options.message = [&](Severity, std::string_view text) { said.emplace_back(text); };
  auto reader =
      OcrReader::create({dark_is_text(), always_upright(), reads_pixels()}, letters(), options);
  const std::vector<cv::Rect> three = {
      {100, 100, 300, 20}, {100, 200, 300, 20}, {100, 300, 300, 20}};
  CHECK(reader->read(bars(800, 600, three))->lines.size() == 2);
  REQUIRE(said.size() == 1);
  CHECK(said[0].starts_with("there are 2 lines or more"));
  said.clear();
  CHECK(reader->read(bars(800, 600, {three[0]}))->lines.size() == 1);
  CHECK(said.empty());
}

TEST_CASE("pictures that contradict themselves are refused") {
  auto reader = OcrReader::create({dark_is_text(), always_upright(), reads_pixels()}, letters());
  Picture p = bars(100, 50, {});
  p.bgr.pop_back();
  CHECK(reader->read(p).error().code == ErrorCode::kInvalidArgument);
  CHECK(reader->read_line(p).error().code == ErrorCode::kInvalidArgument);
  CHECK(reader->read(Picture{}).error().code == ErrorCode::kInvalidArgument);
  p.width = 0xffffffff;
  p.height = 0xffffffff;
  CHECK_FALSE(reader->read(p).ok());
}

TEST_CASE("a map of wrong size or without numbers is an error") {
  const auto wrong = fake([](const Pictures&) -> Result<TensorF32> {
    return TensorF32{1, 2, 2, 1, std::vector<float>(4)};
  });
  const auto nan = fake([](const Pictures& p) -> Result<TensorF32> {
    return TensorF32{
        p.n, p.h, p.w, 1,
        std::vector<float>(std::size_t{p.n} * p.h * p.w, std::numeric_limits<float>::quiet_NaN())};
  });
  const Picture p = bars(100, 100, {});
  CHECK(OcrReader::create({wrong, nullptr, reads_pixels()}, letters())->read(p).error().code ==
        ErrorCode::kUnsupported);
  CHECK(OcrReader::create({nan, nullptr, reads_pixels()}, letters())->read(p).error().code ==
        ErrorCode::kNotFinite);
}

TEST_CASE("small text is looked at a second time") {
  auto net = dark_is_text();
  OcrOptions options;
  options.detect_small_text = 16;
  options.unclip_ratio = 0.5f;
  auto reader = OcrReader::create({net, always_upright(), reads_pixels()}, letters(), options);
  std::vector<cv::Rect> lines;
  for (int y = 100; y < 1800; y += 60) lines.push_back({100, y, 800, 12});
  const auto page = reader->read(bars(1920, 1920, lines));  // halved at first: 6 pixels high
  REQUIRE(page.ok());
  CHECK(page->timings.detect_runs == 2);
  CHECK(page->lines.size() == lines.size());
  REQUIRE(net->shapes().size() == 2);
  CHECK(net->shapes()[0].w == 960);
  CHECK(net->shapes()[1].w > 1500);
}

TEST_CASE("one reader, many threads, the same pages") {
  auto reader = OcrReader::create({dark_is_text(), always_upright(), reads_pixels()}, letters());
  const Picture picture =
      bars(600, 400, {{50, 50, 300, 20}, {50, 150, 400, 24}, {50, 250, 200, 18}});
  const auto expected = reader->read(picture);
  REQUIRE(expected.ok());
  std::vector<std::string> texts(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto page = reader->read(picture);
      if (!page) return;
      for (const OcrLine& line : page->lines) texts[i] += line.text + "\n";
    });
  }
  for (std::thread& t : threads) t.join();
  std::string wanted;
  for (const OcrLine& line : expected->lines) wanted += line.text + "\n";
  for (const std::string& text : texts) CHECK(text == wanted);
}
