// SPDX-License-Identifier: Apache-2.0
// What stands behind the C interface's page. Made by spirkiln::c::make_handle, like every handle.
#pragma once

#include "spirkiln/ocr.hpp"

struct spirkiln_ocr_page {
  spirkiln::OcrPage page;
};
