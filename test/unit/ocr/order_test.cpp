// SPDX-License-Identifier: Apache-2.0
#include "ocr/order.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "ocr/geometry.hpp"

using namespace spirkiln;
using namespace spirkiln::ocr;

namespace {

// A line of an upright page, on the same page turned by `degrees` clockwise about its middle.
OcrLine line(const std::string& text, float x, float y, float w, float h, float degrees) {
  OcrLine out;
  const float r = degrees * static_cast<float>(CV_PI) / 180;
  const float corners[4][2] = {{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}};
  for (int i = 0; i < 4; ++i) {
    const float u = corners[i][0] - 500, v = corners[i][1] - 500;
    out.box[i] = {500 + u * std::cos(r) - v * std::sin(r), 500 + u * std::sin(r) + v * std::cos(r)};
  }
  out.angle = wrap_degrees(degrees);
  out.rotation = static_cast<std::uint32_t>(std::lround(out.angle / 90) + 4) % 4 * 90;
  out.text = text;
  return out;
}

std::string read_out(const std::vector<OcrLine>& lines) {
  std::string text;
  for (const std::size_t i : reading_order(lines)) text += lines[i].text;
  return text;
}

}  // namespace

TEST_CASE("rows from top to bottom, each from left to right, however the page is turned") {
  const float degrees =
      GENERATE(0.0f, 5.0f, -5.0f, 20.0f, -20.0f, 90.0f, 175.0f, 180.0f, -90.0f, 100.0f);
  CAPTURE(degrees);
  const std::vector<OcrLine> lines = {
      line("F", 600, 206, 200, 30, degrees), line("A", 100, 100, 500, 30, degrees),
      line("E", 350, 201, 200, 30, degrees), line("B", 100, 150, 300, 30, degrees),
      line("D", 100, 200, 200, 30, degrees), line("C", 500, 155, 300, 30, degrees),
      line("G", 100, 250, 700, 30, degrees)};
  CHECK(read_out(lines) == "ABCDEFG");
  CHECK(std::fabs(wrap_degrees(page_angle(lines) - degrees)) < 0.5f);
}

TEST_CASE("a short stray line does not turn the page") {
  std::vector<OcrLine> lines = {line("A", 100, 100, 500, 30, 0), line("B", 100, 150, 500, 30, 0)};
  lines.push_back(line("x", 700, 700, 40, 30, 90));
  CHECK(std::fabs(page_angle(lines)) < 0.5f);
  CHECK(page_angle({}) == 0.0f);
  CHECK(reading_order({}).empty());
}

TEST_CASE("columns that are read downwards go from right to left") {
  // Upright page coordinates of text that was turned by 90 degrees: rows become columns.
  std::vector<OcrLine> lines;
  for (int i = 0; i < 3; ++i) {
    OcrLine column;
    const float x = 300.0f - static_cast<float>(i) * 100;
    column.box = {{{x + 40, 50}, {x + 40, 450}, {x, 450}, {x, 50}}};
    column.angle = 90;
    column.rotation = 90;
    column.text = std::string(1, static_cast<char>('A' + i));
    lines.insert(lines.begin(), column);
  }
  CHECK(read_out(lines) == "ABC");
}

TEST_CASE("every line is read once") {
  std::vector<OcrLine> lines;
  std::uint32_t random = 7;
  for (int i = 0; i < 300; ++i) {
    const auto next = [&] {
      return static_cast<float>((random = random * 1664525 + 1013904223) >> 22);
    };
    lines.push_back(line("x", next(), next(), 1 + next(), 1 + next() / 10, next()));
  }
  auto order = reading_order(lines);
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == i);
  CHECK(order.size() == lines.size());
}
