// SPDX-License-Identifier: Apache-2.0
#include "labels.hpp"

#include <catch2/catch_test_macros.hpp>
#include <vector>

using namespace spirkiln;

namespace {

OcrLine line_at(float x, float y, float w, float h) {
  OcrLine line;
  line.box = {OcrPoint{x, y}, OcrPoint{x + w, y}, OcrPoint{x + w, y + h}, OcrPoint{x, y + h}};
  return line;
}

bool overlap(const Area& a, const Area& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

}  // namespace

TEST_CASE("a number stands before its line, else above, below, behind, else in it") {
  const std::vector<Area> size = {{0, 0, 20, 10}};
  const auto place = [&](float x, float y, float w, float h) {
    return place_labels({line_at(x, y, w, h)}, size, 100, 60)[0];
  };
  CHECK(place(40, 20, 30, 16).left == 20);  // 40 - 20
  CHECK(place(40, 20, 30, 16).top == 23);   // in the middle: 20 + (16 - 10) / 2
  CHECK(place(10, 20, 30, 16).left == 10);  // no room before
  CHECK(place(10, 20, 30, 16).top == 10);   // above
  CHECK(place(10, 5, 30, 16).top == 21);    // below
  CHECK(place(10, 5, 60, 50).left == 70);   // behind
  const Area inside = place(0, 0, 100, 60);
  CHECK(inside.left == 0);
  CHECK(inside.top == 0);
}

TEST_CASE("a number gets smaller before it stands in its line") {
  // Lines without room between them but 8 pixels above and below.
  std::vector<OcrLine> lines;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      lines.push_back(line_at(30.0f * column, 10.0f + 20 * row, 30, 12));
    }
  }
  const auto labels = place_labels(lines, std::vector<Area>(lines.size(), {0, 0, 20, 10}), 90, 70);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    CAPTURE(i);
    const float height = labels[i].bottom - labels[i].top;
    CHECK(height == (i < 3 ? 10.0f : 7.5f));  // above the first row there are 10
    CHECK(labels[i].right - labels[i].left == height * 2);
    for (std::size_t k = 0; k < lines.size(); ++k) {
      CHECK_FALSE(overlap(labels[i], area_of(lines[k])));
    }
  }
}

TEST_CASE("on a dense page numbers overlap neither other lines nor each other") {
  std::vector<OcrLine> lines;
  for (int row = 0; row < 20; ++row) {
    for (int column = 0; column < 10; ++column) {
      lines.push_back(line_at(30.0f + 100 * column, 20.0f + 14 * row, 78, 12));
    }
  }
  const auto labels =
      place_labels(lines, std::vector<Area>(lines.size(), {0, 0, 20, 10}), 1040, 320);
  REQUIRE(labels.size() == lines.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t k = 0; k < labels.size(); ++k) {
      if (i == k) continue;
      CHECK_FALSE(overlap(labels[i], area_of(lines[k])));
      CHECK_FALSE(overlap(labels[i], labels[k]));
    }
  }
}

TEST_CASE("a number stays within the picture, however small that is") {
  const auto labels = place_labels({line_at(0, 0, 5, 5)}, {{0, 0, 20, 10}}, 5, 5);
  CHECK(labels[0].left == 0);
  CHECK(labels[0].top == 0);
}
