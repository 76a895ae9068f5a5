// SPDX-License-Identifier: Apache-2.0
// The C interface's pages: no device behind them.
#include "ocr/page_c.hpp"

#include <cstring>
#include <string_view>

#include "c_handles.hpp"
#include "spirkiln/ocr.h"

namespace {

using namespace spirkiln::c;

const spirkiln::OcrLine* find_line(const spirkiln_ocr_page* page, uint32_t index) {
  return valid(page) && index < page->page.lines.size() ? &page->page.lines[index] : nullptr;
}

}  // namespace

uint32_t spirkiln_ocr_page_count(const spirkiln_ocr_page* page) {
  return valid(page) ? static_cast<uint32_t>(page->page.lines.size()) : 0;
}

spirkiln_status spirkiln_ocr_page_line(const spirkiln_ocr_page* page, uint32_t index,
                                       spirkiln_ocr_line* line) {
  clear(line);
  const spirkiln::OcrLine* from = find_line(page, index);
  if (from == nullptr || line == nullptr) return SPIRKILN_INVALID_ARGUMENT;
  for (std::size_t i = 0; i < 4; ++i) {
    line->box[i * 2] = from->box[i].x;
    line->box[i * 2 + 1] = from->box[i].y;
  }
  line->box_score = from->box_score;
  line->angle = from->angle;
  line->rotation = from->rotation;
  line->score = from->score;
  return SPIRKILN_OK;
}

spirkiln_status spirkiln_ocr_line_text(const spirkiln_ocr_page* page, uint32_t index, char* buffer,
                                       size_t bytes, size_t* needed) {
  const spirkiln::OcrLine* line = find_line(page, index);
  const std::string_view text = line != nullptr ? std::string_view(line->text) : "";
  put_text(buffer, bytes, text);
  if (needed != nullptr) *needed = text.size() + 1;
  return line != nullptr ? SPIRKILN_OK : SPIRKILN_INVALID_ARGUMENT;
}

spirkiln_status spirkiln_ocr_page_text(const spirkiln_ocr_page* page, char* buffer, size_t bytes,
                                       size_t* needed) {
  std::size_t size = 0, at = 0;
  bool full = false;
  // Piece by piece: no allocation that could fail.
  const auto add = [&](std::string_view text) {
    size += text.size();
    if (full || buffer == nullptr || bytes == 0) return;
    put_text(buffer + at, bytes - at, text);
    const std::size_t written = std::strlen(buffer + at);
    full = written < text.size();
    at += written;
  };
  add("");
  const bool known = valid(page);
  if (known) {
    for (std::size_t i = 0; i < page->page.lines.size(); ++i) {
      if (i > 0) add("\n");
      add(page->page.lines[i].text);
    }
  }
  if (needed != nullptr) *needed = size + 1;
  return known ? SPIRKILN_OK : SPIRKILN_INVALID_ARGUMENT;
}

void spirkiln_ocr_page_close(spirkiln_ocr_page* page) { Open<spirkiln_ocr_page>::close(page); }
