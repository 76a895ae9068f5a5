// SPDX-License-Identifier: Apache-2.0
// PBM, PGM and PPM, written out by hand.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "spirkiln/ocr.hpp"

using namespace spirkiln;

namespace {

Result<Picture> decode(const std::string& file) {
  return decode_picture({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, "p.pnm");
}

std::vector<int> grey(const std::string& file) {
  const auto picture = decode(file);
  if (!picture) FAIL(picture.error().message);
  std::vector<int> out;
  for (std::size_t i = 0; i < picture->bgr.size(); i += 3) {
    CHECK(picture->bgr[i] == picture->bgr[i + 1]);
    CHECK(picture->bgr[i] == picture->bgr[i + 2]);
    out.push_back(picture->bgr[i]);
  }
  return out;
}

using Bgr = std::vector<std::uint8_t>;

}  // namespace

TEST_CASE("samples are scaled by their greatest value, in every form") {
  const int greatest = GENERATE(1, 15, 100, 255, 256, 1023, 65535);
  const bool raw = GENERATE(false, true);
  CAPTURE(greatest, raw);
  const std::vector<int> samples = {0, greatest / 4, greatest / 2, greatest - greatest / 4,
                                    greatest};
  std::string pixels;
  std::vector<int> expected;
  for (const int v : samples) {
    if (!raw) {
      pixels += std::to_string(v) + " ";
    } else {
      if (greatest > 255) pixels += static_cast<char>(v >> 8);
      pixels += static_cast<char>(v & 255);
    }
    expected.push_back(static_cast<int>(std::lround(v * 255.0 / greatest)));
  }
  const std::string size = " 5 1 " + std::to_string(greatest) + "\n";
  CHECK(grey((raw ? "P5" : "P2") + size + pixels) == expected);
  // The same as colours: red, green, blue of one pixel and two of the next.
  const auto colour =
      decode((raw ? "P6 1 1 " : "P3 1 1 ") + std::to_string(greatest) + "\n" + pixels);
  REQUIRE(colour.ok());
  CHECK(colour->bgr == Bgr{static_cast<std::uint8_t>(expected[2]),
                           static_cast<std::uint8_t>(expected[1]),
                           static_cast<std::uint8_t>(expected[0])});
}

TEST_CASE("a one is black in PBM") {
  // Nine pixels a row: a raw row is two bytes.
  const std::vector<int> expected = {0,   255, 255, 0, 255, 255, 255, 255, 0,
                                     255, 255, 255, 0, 0,   0,   0,   0,   255};
  CHECK(grey("P1\n9 2\n1 0 0 1 0 0 0 0 1\n000111110") == expected);
  CHECK(grey(std::string("P4 9 2\n\x90\x80\x1f\x7f", 11)) == expected);  // the rest is no pixel
}

TEST_CASE("any white space and comments, and no newline at the end") {
  CHECK(grey("P2 2 1 255 7 9") == std::vector<int>{7, 9});
  CHECK(grey("P2\r\n# a\r\n2 # b\n1\n#c\n255\n7\n# d\n9\n\n") == std::vector<int>{7, 9});
  CHECK(grey("P5\t2 1\n255 \x07\x09") == std::vector<int>{7, 9});
  CHECK(grey("P5 2 1 255\n\n\x09") == std::vector<int>{10, 9});  // a sample that is a newline
  CHECK(grey("P5 2 1 255\n\x07\x09 and more") == std::vector<int>{7, 9});
}

TEST_CASE("a sample above the greatest is the greatest") {
  CHECK(grey("P2 3 1 100 50 101 999999999") == std::vector<int>{128, 255, 255});
  CHECK(grey("P5 2 1 15\n\x0f\xff") == std::vector<int>{255, 255});
}

TEST_CASE("what is missing is said") {
  const auto [file, words] = GENERATE(
      std::pair{"P2 2 2 255 7 9 8", "expected at least 8"},
      std::pair{"P2 2 2 255 7 9 8 x y z", "no number where one should stand in row 2 of 2"},
      std::pair{"P5 2 2 255\nabc", "3 bytes of pixels, expected 4"},
      std::pair{"P5 2 2 256\nabcdef", "6 bytes of pixels, expected 8"},
      std::pair{"P4 9 2\nabc", "3 bytes of pixels, expected 4"},
      std::pair{"P6 1 1 255", "0 bytes of pixels, expected 3"},
      std::pair{"P5 2 2 0\nabcd", "from 1 to 65535"},
      std::pair{"P5 2 2 70000\nabcdefgh", "from 1 to 65535"},
      std::pair{"P5 2 2", "from 1 to 65535"}, std::pair{"P5 2 x 255\nabcd", "no width and height"},
      std::pair{"P5 # 2 2 255", "no width and height"});
  CAPTURE(file);
  const auto picture = decode(file);
  REQUIRE_FALSE(picture.ok());
  CAPTURE(picture.error().message);
  CHECK(picture.error().code == ErrorCode::kCorrupt);
  CHECK(picture.error().message.starts_with("p.pnm: "));
  CHECK(picture.error().message.find(words) != std::string::npos);
}
