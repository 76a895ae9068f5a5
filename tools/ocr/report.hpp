// SPDX-License-Identifier: Apache-2.0
// What was read, in the formats that programs read. A report is report_begin(), then report_page()
// or report_failure() for each picture, then report_end().
#pragma once

#include <cstddef>
#include <string>

#include "spirkiln/ocr.hpp"

namespace spirkiln {

enum class Format { kText, kJson, kTsv, kHocr };

std::string report_begin(Format format);
// `number` counts all pictures of the report from 0, those that could not be read among them.
std::string report_page(Format format, std::size_t number, const std::string& file,
                        const OcrPage& page);
// A picture that could not be read. Only JSON has a place for it; the other formats leave out its
// page number.
std::string report_failure(Format format, std::size_t number, const std::string& file,
                           const Error& error);
std::string report_end(Format format);

// ---- The formats' parts, a file each -----------------------------------------------------------

// An object of "files" in spirkiln-ocr.schema.json.
std::string page_json(const std::string& file, const OcrPage& page);
std::string error_json(const std::string& file, const Error& error);

// The columns are Tesseract's.
std::string tsv_header();
std::string page_tsv(std::size_t number, const OcrPage& page);

// XHTML with the classes and properties of hOCR 1.2.
std::string hocr_begin();
std::string page_hocr(std::size_t number, const std::string& file, const OcrPage& page);
std::string hocr_end();

// Whole pixels within the page: left and top belong to it, right and bottom are the first beside
// it.
struct PixelBox {
  long left = 0, top = 0, right = 0, bottom = 0;
};
PixelBox pixel_box(const OcrLine& line, const OcrPage& page);
// Around all lines; nothing without any.
PixelBox pixel_box(const OcrPage& page);

// One line of UTF-8 that XML may hold, too: control characters become spaces; bytes that are no
// UTF-8, U+FFFE and U+FFFF become U+FFFD.
std::string plain(const std::string& text);

}  // namespace spirkiln
