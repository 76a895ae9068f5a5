// SPDX-License-Identifier: Apache-2.0
// Answers of slow Nets kept in files, so that one option can be tried after another.
#pragma once

#include <string>

#include "spirkiln/ocr.hpp"

namespace spirkiln::test {

// Recognition answers keep the best class of each step only, with 0 elsewhere.
OcrNets cached(const OcrNets& nets, const std::string& folder);

}  // namespace spirkiln::test
