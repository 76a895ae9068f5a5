// SPDX-License-Identifier: Apache-2.0
// Where the numbers of lines stand on a picture of what was found.
#pragma once

#include <vector>

#include "spirkiln/ocr.hpp"

namespace spirkiln {

struct Area {  // pixels, y down
  float left = 0, top = 0, right = 0, bottom = 0;
};

// The area around a line's box.
Area area_of(const OcrLine& line);

// A place for the label of each line, `sizes[i]` large (right and bottom) or a half or three
// quarters of that, within the picture: before the line, above, below or behind it, where no other
// line and no earlier label is; in the line's own box where there is no such place.
std::vector<Area> place_labels(const std::vector<OcrLine>& lines, const std::vector<Area>& sizes,
                               float width, float height);

}  // namespace spirkiln
