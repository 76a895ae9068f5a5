// SPDX-License-Identifier: Apache-2.0
// Boxes that are parts of one line, made one.
#pragma once

#include <vector>

#include "ocr/detect.hpp"

namespace spirkiln::ocr {

// The detection graph was trained on lines that run to the right; those that run downwards fall
// apart at wide gaps. Two boxes become one where they lie in one line, are about equally high and
// overlap; downwards also where less than half of their height is between them.
std::vector<Box> merged(std::vector<Box> boxes);

}  // namespace spirkiln::ocr
