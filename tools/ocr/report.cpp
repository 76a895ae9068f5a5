// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>
#include <cmath>

#include "labels.hpp"
#include "quoted.hpp"

namespace spirkiln {
namespace {

std::string page_text(const OcrPage& page) {
  std::string out;
  for (const OcrLine& line : page.lines) out += line.text + "\n";
  return out;
}

const char* json_separator(std::size_t number) { return number == 0 ? "\n" : ",\n"; }

}  // namespace

std::string report_begin(Format format) {
  switch (format) {
    case Format::kText:
      return "";
    case Format::kJson:
      return "{\"files\": [";
    case Format::kTsv:
      return tsv_header();
    case Format::kHocr:
      return hocr_begin();
  }
  return "";
}

std::string report_page(Format format, std::size_t number, const std::string& file,
                        const OcrPage& page) {
  switch (format) {
    case Format::kText:
      return page_text(page);
    case Format::kJson:
      return json_separator(number) + page_json(file, page);
    case Format::kTsv:
      return page_tsv(number, page);
    case Format::kHocr:
      return page_hocr(number, file, page);
  }
  return "";
}

std::string report_failure(Format format, std::size_t number, const std::string& file,
                           const Error& error) {
  return format == Format::kJson ? json_separator(number) + error_json(file, error) : "";
}

std::string report_end(Format format) {
  if (format == Format::kJson) return "\n]}\n";
  return format == Format::kHocr ? hocr_end() : "";
}

PixelBox pixel_box(const OcrLine& line, const OcrPage& page) {
  const Area area = area_of(line);
  const long width = page.width, height = page.height;
  PixelBox out;
  out.left = std::clamp(std::lround(std::floor(area.left)), 0l, std::max(0l, width - 1));
  out.top = std::clamp(std::lround(std::floor(area.top)), 0l, std::max(0l, height - 1));
  out.right = std::clamp(std::lround(std::ceil(area.right)), out.left + 1, std::max(1l, width));
  out.bottom = std::clamp(std::lround(std::ceil(area.bottom)), out.top + 1, std::max(1l, height));
  return out;
}

PixelBox pixel_box(const OcrPage& page) {
  if (page.lines.empty()) return {};
  PixelBox out = pixel_box(page.lines.front(), page);
  for (const OcrLine& line : page.lines) {
    const PixelBox box = pixel_box(line, page);
    out.left = std::min(out.left, box.left), out.right = std::max(out.right, box.right);
    out.top = std::min(out.top, box.top), out.bottom = std::max(out.bottom, box.bottom);
  }
  return out;
}

std::string plain(const std::string& text) {
  std::string out;
  for (std::string_view left = text; !left.empty();) {
    const std::size_t length = tool::utf8_length(left);
    const std::string_view one = left.substr(0, std::max<std::size_t>(1, length));
    const auto first = static_cast<unsigned char>(one[0]);
    // U+0080 to U+009F: U+0085 ends a line.
    const bool second_control =
        length == 2 && first == 0xc2 && static_cast<unsigned char>(one[1]) < 0xa0;
    if (first < 0x20 || first == 0x7f || second_control) {
      out += ' ';
    } else if (length == 0 || one == "\xef\xbf\xbe" || one == "\xef\xbf\xbf") {
      out += "\xef\xbf\xbd";
    } else {
      out += one;
    }
    left.remove_prefix(one.size());
  }
  return out;
}

}  // namespace spirkiln
