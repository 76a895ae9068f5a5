// SPDX-License-Identifier: Apache-2.0
// What was read, in each format. Expected values are worked out by hand from the boxes below.
#include "report.hpp"

#include <catch2/catch_test_macros.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "json.hpp"

using namespace spirkiln;

namespace {

OcrLine line(const std::string& text, float score, std::array<OcrPoint, 4> box, float angle,
             std::uint32_t rotation) {
  OcrLine out;
  out.text = text;
  out.score = score;
  out.box = box;
  out.box_score = 0.75f;
  out.angle = angle;
  out.rotation = rotation;
  return out;
}

OcrPage page_of(std::uint32_t width, std::uint32_t height, std::vector<OcrLine> lines) {
  OcrPage page;
  page.width = width;
  page.height = height;
  page.lines = std::move(lines);
  return page;
}

// A level line, one that runs down at 45 degrees in a square of 20 pixels, one turned to the left.
OcrPage three_lines() {
  return page_of(100, 80,
                 {line("level", 0.987f, {{{10.2f, 5}, {50.5f, 5}, {50.5f, 15}, {10.2f, 15}}}, 0, 0),
                  line("slope", 1, {{{10, 20}, {20, 30}, {15, 35}, {5, 25}}}, 45, 0),
                  line("left", 0.5f, {{{60, 70}, {60, 40}, {70, 40}, {70, 70}}}, -90, 270)});
}

std::vector<std::vector<std::string>> cells(const std::string& tsv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(tsv);
  for (std::string row; std::getline(lines, row);) {
    std::vector<std::string>& out = rows.emplace_back(1);
    for (const char c : row) {
      if (c == '\t') {
        out.emplace_back();
      } else {
        out.back() += c;
      }
    }
  }
  return rows;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("TSV has Tesseract's columns, and a row for each level") {
  const auto rows =
      cells(report_begin(Format::kTsv) + report_page(Format::kTsv, 1, "a.png", three_lines()) +
            report_end(Format::kTsv));
  using Row = std::vector<std::string>;
  REQUIRE(rows.size() == 10);
  CHECK(rows[0] == Row{"level", "page_num", "block_num", "par_num", "line_num", "word_num", "left",
                       "top", "width", "height", "conf", "text"});
  CHECK(rows[1] == Row{"1", "2", "0", "0", "0", "0", "0", "0", "100", "80", "-1", ""});
  CHECK(rows[2] == Row{"2", "2", "1", "0", "0", "0", "5", "5", "65", "65", "-1", ""});
  CHECK(rows[3] == Row{"3", "2", "1", "1", "0", "0", "5", "5", "65", "65", "-1", ""});
  CHECK(rows[4] == Row{"4", "2", "1", "1", "1", "0", "10", "5", "41", "10", "-1", ""});
  CHECK(rows[5] == Row{"5", "2", "1", "1", "1", "1", "10", "5", "41", "10", "98.70", "level"});
  CHECK(rows[7] == Row{"5", "2", "1", "1", "2", "1", "5", "20", "15", "15", "100.00", "slope"});
  CHECK(rows[9] == Row{"5", "2", "1", "1", "3", "1", "60", "40", "10", "30", "50.00", "left"});
}

TEST_CASE("a TSV row stays one row of twelve cells, whatever the text holds") {
  const auto rows =
      cells(page_tsv(0, page_of(9, 9,
                                {line("a\tb\nc\rd\x1b\x7f\xc2\x85"
                                      "e\xff",
                                      1, {{{0, 0}, {9, 0}, {9, 9}, {0, 9}}}, 0, 0)})));
  REQUIRE(rows.size() == 5);
  for (const auto& row : rows) CHECK(row.size() == 12);
  CHECK(rows[4][11] == "a b c d   e\xef\xbf\xbd");
}

TEST_CASE("a page without lines is one row, and an empty hOCR page") {
  const OcrPage page = page_of(30, 20, {});
  CHECK(page_tsv(0, page) == "1\t1\t0\t0\t0\t0\t0\t0\t30\t20\t-1\t\n");
  const std::string hocr = page_hocr(0, "a.png", page);
  CHECK(contains(hocr, "bbox 0 0 30 20; ppageno 0"));
  CHECK(!contains(hocr, "ocr_line"));
}

TEST_CASE("boxes are whole pixels of the page") {
  // 2.3 pixels outside on every side, and one of no size at the lower right corner.
  const OcrPage page = page_of(
      40, 30,
      {line("out", 1, {{{-2.3f, -2.3f}, {42.3f, -2.3f}, {42.3f, 32.3f}, {-2.3f, 32.3f}}}, 0, 0),
       line("dot", 1, {{{40, 30}, {40, 30}, {40, 30}, {40, 30}}}, 0, 0)});
  const PixelBox out = pixel_box(page.lines[0], page), dot = pixel_box(page.lines[1], page);
  CHECK((out.left == 0 && out.top == 0 && out.right == 40 && out.bottom == 30));
  CHECK((dot.left == 39 && dot.top == 29 && dot.right == 40 && dot.bottom == 30));
}

TEST_CASE("hOCR: baselines of upright lines, angles of turned ones, counter-clockwise") {
  const std::string hocr = page_hocr(4, "a.png", three_lines());
  CHECK(contains(hocr, "id=\"page_5\" title='image \"a.png\"; bbox 0 0 100 80; ppageno 4'"));
  CHECK(contains(hocr,
                 "title=\"bbox 10 5 51 15; baseline 0.0000 0.0; x_size 10.0; poly 10 5 51 5 51 15 "
                 "10 15\""));
  // The lower edge runs from (5, 25) to (15, 35): at the left of the bbox 10 above its bottom.
  CHECK(contains(hocr, "title=\"bbox 5 20 20 35; baseline 1.0000 -10.0; x_size 7.1;"));
  CHECK(contains(hocr, "title=\"bbox 60 40 70 70; textangle 90.0; x_size 10.0;"));
  CHECK(contains(hocr, "x_wconf 99\">level</span>"));
  CHECK(contains(hocr, "x_wconf 50\">left</span>"));
  for (const auto& [angle, rotation, expected] : {std::tuple{90.0f, 90u, "textangle 270.0"},
                                                  {180.0f, 180u, "textangle 180.0"},
                                                  {-179.96f, 180u, "textangle 180.0"},
                                                  {-100.0f, 270u, "textangle 100.0"}}) {
    const OcrPage page =
        page_of(50, 50, {line("t", 1, {{{9, 9}, {9, 19}, {0, 19}, {0, 9}}}, angle, rotation)});
    CAPTURE(angle);
    CHECK(contains(page_hocr(0, "a", page), expected));
  }
}

TEST_CASE("hOCR escapes texts and names") {
  const OcrPage page = page_of(
      50, 50,
      {line("<&\"'>\x02\xed\xa0\x80\xef\xbf\xbf中", 1, {{{0, 0}, {9, 0}, {9, 9}, {0, 9}}}, 0, 0)});
  const std::string hocr = page_hocr(0, "a\"b;c%d'<&>\n.png", page);
  CHECK(contains(hocr, "image \"a%22b%3Bc%25d&#39;&lt;&amp;&gt;%0A.png\"; bbox"));
  // A surrogate is three bytes that are no UTF-8.
  const std::string no = "\xef\xbf\xbd";
  CHECK(contains(hocr, ">&lt;&amp;&quot;&#39;&gt; " + no + no + no + no + "中</span>"));
}

TEST_CASE("JSON stays JSON, with pictures that could not be read among the others") {
  const Error error{ErrorCode::kIo, "b\"\n: gone"};
  const std::string text =
      report_begin(Format::kJson) + report_failure(Format::kJson, 0, "b\"\n", error) +
      report_page(Format::kJson, 1, "a.png", three_lines()) + report_end(Format::kJson);
  const auto value = json::parse(text, "report");
  REQUIRE(value.ok());
  const json::Value* files = value->find("files");
  REQUIRE((files != nullptr && files->array.size() == 2));
  CHECK(files->array[0].find("error")->string == "b\"\n: gone");
  CHECK(files->array[0].find("file")->string == "b\"\n");
  const json::Value& lines = *files->array[1].find("lines");
  REQUIRE(lines.array.size() == 3);
  CHECK(lines.array[2].find("text")->string == "left");
  CHECK(lines.array[2].find("rotation")->number == 270);
  CHECK(lines.array[1].find("box")->array[2].array[1].number == 35);
}

TEST_CASE("only JSON has a place for failures") {
  const Error error{ErrorCode::kIo, "gone"};
  for (const Format format : {Format::kText, Format::kTsv, Format::kHocr}) {
    CHECK(report_failure(format, 0, "a", error).empty());
  }
  CHECK(report_page(Format::kText, 3, "a", three_lines()) == "level\nslope\nleft\n");
  CHECK((report_begin(Format::kText) + report_end(Format::kText)).empty());
}
