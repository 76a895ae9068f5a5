// SPDX-License-Identifier: Apache-2.0
// Tesseract's rows: a page (level 1) has blocks (2), these paragraphs (3), these lines (4), these
// words (5), and only words have a confidence and a text. We have lines: one block and one
// paragraph around all of a page's, one word in each.
#include <fmt/format.h>

#include "report.hpp"

namespace spirkiln {
namespace {

struct Place {
  std::size_t level, page, block, paragraph, line, word;
};

std::string row(const Place& p, const PixelBox& box, const std::string& confidence,
                const std::string& text) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", p.level, p.page, p.block,
                     p.paragraph, p.line, p.word, box.left, box.top, box.right - box.left,
                     box.bottom - box.top, confidence, text);
}

}  // namespace

std::string tsv_header() {
  return "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\t"
         "text\n";
}

std::string page_tsv(std::size_t number, const OcrPage& page) {
  const std::size_t n = number + 1;
  std::string out = row({1, n, 0, 0, 0, 0}, {0, 0, long{page.width}, long{page.height}}, "-1", "");
  if (page.lines.empty()) return out;
  out += row({2, n, 1, 0, 0, 0}, pixel_box(page), "-1", "");
  out += row({3, n, 1, 1, 0, 0}, pixel_box(page), "-1", "");
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const OcrLine& line = page.lines[i];
    const PixelBox box = pixel_box(line, page);
    out += row({4, n, 1, 1, i + 1, 0}, box, "-1", "");
    out +=
        row({5, n, 1, 1, i + 1, 1}, box, fmt::format("{:.2f}", 100 * line.score), plain(line.text));
  }
  return out;
}

}  // namespace spirkiln
