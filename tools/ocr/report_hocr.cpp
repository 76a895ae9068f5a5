// SPDX-License-Identifier: Apache-2.0
// hOCR 1.2 as XHTML 1.0 Transitional, so that both XML and HTML readers take it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report.hpp"

namespace spirkiln {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : plain(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// A file name between quotation marks in a list with semicolons, which readers split without
// looking for the marks; hOCR has no escapes. As in a URL, then: %22 and %3B, and %25 for the sign
// itself.
std::string property_name(const std::string& file) {
  std::string out;
  for (const char c : file) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == ';' || c == '%' || byte < 0x20 || byte == 0x7f) {
      out += fmt::format("%{:02X}", byte);
    } else {
      out += c;
    }
  }
  return escaped(out);
}

std::string bbox(const PixelBox& box) {
  return fmt::format("bbox {} {} {} {}", box.left, box.top, box.right, box.bottom);
}

// Where the line runs: an upright one's lower edge as a baseline, slope and offset from the lower
// left corner of its bbox, y down; any other one's direction, counter-clockwise.
std::string direction(const OcrLine& line, const PixelBox& box) {
  if (line.rotation != 0) {
    const float turn = std::fmod(720.0f - line.angle, 360.0f);
    return fmt::format("textangle {:.1f}", turn);
  }
  const OcrPoint &left = line.box[3], &right = line.box[2];
  const float slope = right.x > left.x ? (right.y - left.y) / (right.x - left.x) : 0.0f;
  const float offset =
      left.y + slope * (static_cast<float>(box.left) - left.x) - static_cast<float>(box.bottom);
  // No negative zero.
  return fmt::format("baseline {:.4f} {:.1f}", std::abs(slope) < 5e-5f ? 0.0f : slope,
                     std::abs(offset) < 0.05f ? 0.0f : offset);
}

std::string polygon(const OcrLine& line) {
  std::string out = "poly";
  for (const OcrPoint& p : line.box) {
    out += fmt::format(" {} {}", std::lround(p.x), std::lround(p.y));
  }
  return out;
}

float height_of(const OcrLine& line) {
  return std::hypot(line.box[3].x - line.box[0].x, line.box[3].y - line.box[0].y);
}

}  // namespace

std::string hocr_begin() {
  return R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml">
 <head>
  <title>Text of pictures</title>
  <meta http-equiv="Content-Type" content="text/html; charset=utf-8"/>
  <meta name="ocr-system" content="spirkiln-ocr )" SPIRKILN_VERSION R"("/>
  <meta name="ocr-capabilities" content="ocr_page ocr_carea ocr_par ocr_line ocrx_word"/>
 </head>
 <body>
)";
}

std::string page_hocr(std::size_t number, const std::string& file, const OcrPage& page) {
  const std::size_t n = number + 1;
  std::string out = fmt::format(
      "  <div class=\"ocr_page\" id=\"page_{}\" title='image \"{}\"; bbox 0 0 {} {}; ppageno "
      "{}'>\n",
      n, property_name(file), page.width, page.height, number);
  if (page.lines.empty()) return out + "  </div>\n";
  const std::string around = bbox(pixel_box(page));
  out += fmt::format("   <div class=\"ocr_carea\" id=\"block_{}_1\" title=\"{}\">\n", n, around);
  out += fmt::format("    <p class=\"ocr_par\" id=\"par_{}_1\" title=\"{}\">\n", n, around);
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const OcrLine& line = page.lines[i];
    const PixelBox box = pixel_box(line, page);
    out += fmt::format(
        "     <span class=\"ocr_line\" id=\"line_{0}_{1}\" title=\"{2}; {3}; x_size {4:.1f}; "
        "{5}\"><span class=\"ocrx_word\" id=\"word_{0}_{1}\" title=\"{2}; x_wconf {6}\">{7}</span>"
        "</span>\n",
        n, i + 1, bbox(box), direction(line, box), height_of(line), polygon(line),
        std::lround(100 * line.score), escaped(line.text));
  }
  return out + "    </p>\n   </div>\n  </div>\n";
}

std::string hocr_end() { return " </body>\n</html>\n"; }

}  // namespace spirkiln
