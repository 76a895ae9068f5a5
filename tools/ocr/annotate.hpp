// SPDX-License-Identifier: Apache-2.0
// A picture of what was found.
#pragma once

#include <string>

#include "spirkiln/ocr.hpp"

namespace spirkiln {

// Whether annotate() knows a picture format for this name; to be asked before pictures are read.
Status can_annotate(const std::string& path);

// Draws each line's box, its first corner and its number onto the picture and writes that to
// `path`; the ending says the format. The file appears whole or not at all.
Status annotate(const Picture& picture, const OcrPage& page, const std::string& path);

}  // namespace spirkiln
