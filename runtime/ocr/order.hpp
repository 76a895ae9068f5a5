// SPDX-License-Identifier: Apache-2.0
// Lines in the order in which a person reads them.
#pragma once

#include <cstddef>
#include <vector>

#include "spirkiln/ocr.hpp"

namespace spirkiln::ocr {

// Indices of the lines. The page is turned upright first, by the direction that most text of it is
// read in; then rows go from top to bottom and each from left to right. (Columns of upright
// characters, read downwards, so go from right to left.)
std::vector<std::size_t> reading_order(const std::vector<OcrLine>& lines);

// The reading direction of most text, degrees clockwise.
float page_angle(const std::vector<OcrLine>& lines);

}  // namespace spirkiln::ocr
