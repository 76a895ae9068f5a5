// SPDX-License-Identifier: Apache-2.0
// A picture of what was found.
#pragma once

#include <string>

#include "spirkiln/ocr.hpp"

namespace spirkiln {

// Draws each line's box, its first corner and its number onto the picture and writes that to
// `path`; the ending says the format. The file appears whole or not at all.
Status annotate(const Picture& picture, const OcrPage& page, const std::string& path);

}  // namespace spirkiln
