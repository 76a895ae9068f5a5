// SPDX-License-Identifier: Apache-2.0
// Pages through the C interface: buffers of any size, empty pages, nothing at all.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "c_handles.hpp"
#include "ocr/page_c.hpp"
#include "spirkiln/ocr.h"

namespace {

spirkiln_ocr_page* make_page(const std::vector<std::string>& texts) {
  spirkiln::OcrPage page;
  for (const std::string& text : texts) {
    spirkiln::OcrLine line;
    line.text = text;
    line.score = 0.5f;
    line.rotation = 90;
    line.box[1] = {3, 4};
    page.lines.push_back(line);
  }
  spirkiln_ocr_page* handle = nullptr;
  REQUIRE(spirkiln::c::make_handle(&handle, {nullptr, 0}, std::move(page)) == SPIRKILN_OK);
  return handle;
}

// Fills a buffer of `bytes` bytes with guards around it; the text that was written.
std::string text_in(const spirkiln_ocr_page* page, std::size_t bytes) {
  std::vector<char> memory(bytes + 32, '#');
  CHECK(spirkiln_ocr_page_text(page, memory.data() + 16, bytes, nullptr) == SPIRKILN_OK);
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(memory[i] == '#');
    CHECK(memory[16 + bytes + i] == '#');
  }
  if (bytes == 0) return "";
  char* end = static_cast<char*>(std::memchr(memory.data() + 16, 0, bytes));
  REQUIRE(end != nullptr);
  return std::string(memory.data() + 16, end);
}

}  // namespace

TEST_CASE("texts fill any buffer and no byte more") {
  spirkiln_ocr_page* page = make_page({"ab", "", "中国"});
  const std::string whole = "ab\n\n中国";
  std::size_t needed = 0;
  CHECK(spirkiln_ocr_page_text(page, nullptr, 0, &needed) == SPIRKILN_OK);
  CHECK(needed == whole.size() + 1);
  for (std::size_t bytes = 0; bytes < 16; ++bytes) {
    CAPTURE(bytes);
    const std::string text = text_in(page, bytes);
    CHECK(whole.substr(0, text.size()) == text);
    if (bytes >= needed) CHECK(text == whole);
    if (bytes == 6) CHECK(text == "ab\n\n");  // not half of a character
    if (bytes == 8) CHECK(text == "ab\n\n中");
  }
  char line[16];
  CHECK(spirkiln_ocr_line_text(page, 2, line, sizeof line, &needed) == SPIRKILN_OK);
  CHECK(std::string(line) == "中国");
  CHECK(needed == 7);
  CHECK(spirkiln_ocr_page_count(page) == 3);
  spirkiln_ocr_line info;
  CHECK(spirkiln_ocr_page_line(page, 1, &info) == SPIRKILN_OK);
  CHECK(info.rotation == 90);
  CHECK(info.box[2] == 3.0f);
  CHECK(info.box[3] == 4.0f);
  spirkiln_ocr_page_close(page);
}

TEST_CASE("an empty page and a buffer of one byte") {
  spirkiln_ocr_page* page = make_page({});
  CHECK(spirkiln_ocr_page_count(page) == 0);
  CHECK(text_in(page, 1).empty());
  CHECK(text_in(page, 0).empty());
  std::size_t needed = 0;
  CHECK(spirkiln_ocr_page_text(page, nullptr, 0, &needed) == SPIRKILN_OK);
  CHECK(needed == 1);
  spirkiln_ocr_line info;
  CHECK(spirkiln_ocr_page_line(page, 0, &info) == SPIRKILN_INVALID_ARGUMENT);
  char one = '#';
  CHECK(spirkiln_ocr_line_text(page, 0, &one, 1, &needed) == SPIRKILN_INVALID_ARGUMENT);
  CHECK(one == '\0');
  spirkiln_ocr_page_close(page);
}

TEST_CASE("nothing at all") {
  std::size_t needed = 99;
  CHECK(spirkiln_ocr_page_count(nullptr) == 0);
  CHECK(spirkiln_ocr_page_text(nullptr, nullptr, 0, &needed) == SPIRKILN_INVALID_ARGUMENT);
  CHECK(needed == 1);
  CHECK(spirkiln_ocr_page_line(nullptr, 0, nullptr) == SPIRKILN_INVALID_ARGUMENT);
  spirkiln_ocr_page_close(nullptr);
}
