// SPDX-License-Identifier: Apache-2.0
#include "ocr/order.hpp"

#include <algorithm>
#include <cmath>

#include "ocr/geometry.hpp"

namespace spirkiln::ocr {
namespace {

constexpr float kRadians = static_cast<float>(CV_PI) / 180.0f;

struct Placed {  // a line on the upright page
  std::size_t index;
  float left, right, top, bottom;
  float middle() const { return (top + bottom) / 2; }
  float height() const { return bottom - top; }
};

float length_of(const OcrLine& line) {
  const auto& b = line.box;
  return std::hypot(b[1].x - b[0].x, b[1].y - b[0].y);
}

Placed place(const OcrLine& line, std::size_t index, float angle) {
  const float c = std::cos(-angle * kRadians), s = std::sin(-angle * kRadians);
  Placed out{index, 1e30f, -1e30f, 1e30f, -1e30f};
  for (const OcrPoint& p : line.box) {
    const float x = p.x * c - p.y * s, y = p.x * s + p.y * c;
    out.left = std::min(out.left, x), out.right = std::max(out.right, x);
    out.top = std::min(out.top, y), out.bottom = std::max(out.bottom, y);
  }
  return out;
}

}  // namespace

float page_angle(const std::vector<OcrLine>& lines) {
  // Of the four quarters the one with the most text; inside it the median, weighted by length: a
  // short line's angle is mostly noise.
  std::array<float, 4> quarter{};
  for (const OcrLine& line : lines) quarter[line.rotation / 90 % 4] += length_of(line);
  const auto most = std::max_element(quarter.begin(), quarter.end()) - quarter.begin();
  const float base = static_cast<float>(most) * 90.0f;
  std::vector<std::pair<float, float>> angles;
  for (const OcrLine& line : lines) {
    if (line.rotation / 90 % 4 == static_cast<std::uint32_t>(most)) {
      angles.emplace_back(wrap_degrees(line.angle - base), length_of(line));
    }
  }
  std::sort(angles.begin(), angles.end());
  float seen = 0;
  for (const auto& [angle, length] : angles) {
    seen += length;
    if (seen * 2 >= quarter[most]) return wrap_degrees(base + angle);
  }
  return 0;
}

std::vector<std::size_t> reading_order(const std::vector<OcrLine>& lines) {
  const float angle = page_angle(lines);
  std::vector<Placed> placed;
  for (std::size_t i = 0; i < lines.size(); ++i) placed.push_back(place(lines[i], i, angle));
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return a.middle() != b.middle() ? a.middle() < b.middle() : a.index < b.index;
  });

  // A line joins the row whose lines it overlaps by half of the lower one's height.
  std::vector<std::vector<Placed>> rows;
  for (const Placed& line : placed) {
    const auto joins = [&](const std::vector<Placed>& row) {
      return std::all_of(row.begin(), row.end(), [&](const Placed& other) {
        const float overlap = std::min(line.bottom, other.bottom) - std::max(line.top, other.top);
        return overlap > 0.5f * std::min(line.height(), other.height()) &&
               (line.left >= other.right - other.height() ||
                line.right <= other.left + other.height());
      });
    };
    if (!rows.empty() && joins(rows.back())) {
      rows.back().push_back(line);
    } else {
      rows.push_back({line});
    }
  }
  std::vector<std::size_t> order;
  for (std::vector<Placed>& row : rows) {
    std::sort(row.begin(), row.end(), [](const Placed& a, const Placed& b) {
      return a.left != b.left ? a.left < b.left : a.index < b.index;
    });
    for (const Placed& line : row) order.push_back(line.index);
  }
  return order;
}

}  // namespace spirkiln::ocr
