// SPDX-License-Identifier: Apache-2.0
#include "labels.hpp"

#include <algorithm>
#include <array>

namespace spirkiln {
namespace {

bool overlap(const Area& a, const Area& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

Area at(float left, float top, const Area& size) {
  return {left, top, left + size.right, top + size.bottom};
}

bool is_free(const Area& place, std::size_t own, const std::vector<Area>& boxes,
             const std::vector<Area>& labels) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (i != own && overlap(place, boxes[i])) return false;
  }
  return std::none_of(labels.begin(), labels.end(),
                      [&](const Area& label) { return overlap(place, label); });
}

}  // namespace

Area area_of(const OcrLine& line) {
  Area out{line.box[0].x, line.box[0].y, line.box[0].x, line.box[0].y};
  for (const OcrPoint& p : line.box) {
    out.left = std::min(out.left, p.x), out.right = std::max(out.right, p.x);
    out.top = std::min(out.top, p.y), out.bottom = std::max(out.bottom, p.y);
  }
  return out;
}

std::vector<Area> place_labels(const std::vector<OcrLine>& lines, const std::vector<Area>& sizes,
                               float width, float height) {
  std::vector<Area> boxes, labels;
  for (const OcrLine& line : lines) boxes.push_back(area_of(line));
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Area &box = boxes[i], &size = sizes[i];
    const float level = (box.top + box.bottom - size.bottom) / 2;
    const std::array<Area, 4> places = {at(box.left - size.right, level, size),
                                        at(box.left, box.top - size.bottom, size),
                                        at(box.left, box.bottom, size), at(box.right, level, size)};
    Area chosen = at(std::clamp(box.left, 0.0f, std::max(0.0f, width - size.right)),
                     std::clamp(box.top, 0.0f, std::max(0.0f, height - size.bottom)), size);
    for (const Area& place : places) {
      const bool inside =
          place.left >= 0 && place.top >= 0 && place.right <= width && place.bottom <= height;
      if (!inside || !is_free(place, i, boxes, labels)) continue;
      chosen = place;
      break;
    }
    labels.push_back(chosen);
  }
  return labels;
}

}  // namespace spirkiln
