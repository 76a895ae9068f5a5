// SPDX-License-Identifier: Apache-2.0
#include "labels.hpp"

#include <algorithm>
#include <optional>

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
  const auto find = [&](std::size_t i, const Area& size) -> std::optional<Area> {
    const Area& box = boxes[i];
    const float level = (box.top + box.bottom - size.bottom) / 2;
    for (const Area& place :
         {at(box.left - size.right, level, size), at(box.left, box.top - size.bottom, size),
          at(box.left, box.bottom, size), at(box.right, level, size)}) {
      const bool inside =
          place.left >= 0 && place.top >= 0 && place.right <= width && place.bottom <= height;
      if (inside && is_free(place, i, boxes, labels)) return place;
    }
    return std::nullopt;
  };
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    std::optional<Area> place;
    for (const float share : {1.0f, 0.75f, 0.5f}) {
      if (!place) place = find(i, {0, 0, sizes[i].right * share, sizes[i].bottom * share});
    }
    labels.push_back(place.value_or(
        at(std::clamp(boxes[i].left, 0.0f, std::max(0.0f, width - sizes[i].right)),
           std::clamp(boxes[i].top, 0.0f, std::max(0.0f, height - sizes[i].bottom)), sizes[i])));
  }
  return labels;
}

}  // namespace spirkiln
