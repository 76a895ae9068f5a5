// SPDX-License-Identifier: Apache-2.0
// What was read, as JSON.
#pragma once

#include <string>

#include "spirkiln/ocr.hpp"

namespace spirkiln {

// One object: {"file", "width", "height", "lines": [{"text", "score", "box", "box_score", "angle",
// "rotation"}], "ms"}.
std::string page_json(const std::string& file, const OcrPage& page);
// {"file", "error"}
std::string error_json(const std::string& file, const Error& error);

}  // namespace spirkiln
