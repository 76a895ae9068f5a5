// SPDX-License-Identifier: Apache-2.0
// What stands behind the C interface's page.
#pragma once

#include <cstddef>
#include <string_view>

#include "spirkiln/ocr.hpp"

struct spirkiln_ocr_page {
  spirkiln::OcrPage page;
};

namespace spirkiln::ocr {

// At most `bytes` bytes, a NUL always among them, cut between characters. `needed` may be null.
void copy_text(std::string_view text, char* buffer, std::size_t bytes, std::size_t* needed);

}  // namespace spirkiln::ocr
