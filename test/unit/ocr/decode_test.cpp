// SPDX-License-Identifier: Apache-2.0
// Every form of picture file, against the one picture that all of them show.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "ocr/decode.hpp"
#include "spirkiln/ocr.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string odd(const std::string& name) {
  const char* folder = std::getenv("SPIRKILN_ODD_FILES");
  REQUIRE(folder != nullptr);
  return std::string(folder) + "/" + name;
}

// 0..255, of one pixel.
int grey_at(const Picture& p, std::uint32_t x, std::uint32_t y) {
  const std::uint8_t* pixel = p.bgr.data() + (std::size_t{y} * p.width + x) * 3;
  return (pixel[0] + pixel[1] + pixel[2]) / 3;
}

// The shape of make-odd-files: inside and outside, far from its edges.
struct Probe {
  std::uint32_t x, y;
  bool ink;
};
constexpr Probe kProbes[] = {{12, 12, true},  {14, 26, true},  {40, 12, true},  {3, 3, false},
                             {40, 26, false}, {60, 36, false}, {12, 36, false}, {52, 12, false}};

void check_shape(const Picture& p, int ink, int paper, int tolerance) {
  REQUIRE(p.width == 64);
  REQUIRE(p.height == 40);
  REQUIRE(p.bgr.size() == 64u * 40 * 3);
  for (const Probe& probe : kProbes) {
    CAPTURE(probe.x, probe.y, probe.ink);
    CHECK(std::abs(grey_at(p, probe.x, probe.y) - (probe.ink ? ink : paper)) <= tolerance);
  }
}

}  // namespace

TEST_CASE("every form of file shows the same picture") {
  const auto name =
      GENERATE(as<std::string>{}, "base.png", "rgb.jpg", "rgb.bmp", "rgb.tif", "rgb.ppm",
               "webp_named.jpg", "lossy.webp", "grey.png", "grey.jpg", "one_bit.png", "palette.png",
               "cmyk.jpg", "grey_16.png", "rgb_16.png", "float_grey.tif", "float_rgb.tif",
               "double_grey.tif", "scans.jpg", "scans_80.jpg");
  CAPTURE(name);
  const auto picture = load_picture(odd(name));
  REQUIRE(picture.ok());
  check_shape(*picture, 0, 255, 24);  // JPEG at quality 95 rings near edges
}

TEST_CASE("ink on transparent ground stands out, whichever ink") {
  const auto form = GENERATE(as<std::string>{}, "_on_transparent.png", "_on_transparent.webp",
                             "_grey_alpha.png", "_grey_alpha_16.png", "_palette_alpha.png");
  CAPTURE(form);
  const auto black = load_picture(odd("black" + form));
  REQUIRE(black.ok());
  check_shape(*black, 0, 255, 2);
  const auto white = load_picture(odd("white" + form));
  REQUIRE(white.ok());
  check_shape(*white, 255, 0, 2);
}

TEST_CASE("two inks on transparent ground both stand out") {
  const auto picture = load_picture(odd("both_on_transparent.png"));
  REQUIRE(picture.ok());
  const int black = grey_at(*picture, 18, 20), white = grey_at(*picture, 46, 20);
  const int ground = grey_at(*picture, 3, 3);
  CHECK(std::abs(black - ground) > 100);
  CHECK(std::abs(white - ground) > 100);
}

TEST_CASE("ink that is half transparent stays visible") {
  const auto picture = load_picture(odd("faint_on_transparent.png"));
  REQUIRE(picture.ok());
  check_shape(*picture, 102, 255, 2);  // 255 * (1 - 153/255)
}

TEST_CASE("the eight EXIF orientations show the same picture") {
  const int orientation = GENERATE(range(1, 9));
  const auto ending = GENERATE(as<std::string>{}, ".jpg", ".png", ".webp", ".tif");
  const std::string name = "exif" + std::to_string(orientation) + ending;
  CAPTURE(name);
  const auto picture = load_picture(odd(name));
  REQUIRE(picture.ok());
  check_shape(*picture, 0, 255, 24);
}

TEST_CASE("what is no picture is one clear error") {
  const auto code_of = [](const std::string& name) {
    const auto picture = load_picture(odd(name));
    REQUIRE_FALSE(picture.ok());
    CHECK(picture.error().message.find(name) != std::string::npos);
    CHECK(picture.error().message.find('\n') == std::string::npos);
    return picture.error().code;
  };
  CHECK(code_of("missing.png") == ErrorCode::kIo);
  CHECK(code_of("empty.jpg") == ErrorCode::kCorrupt);
  CHECK(code_of("text.jpg") == ErrorCode::kUnsupported);
  CHECK(code_of("animated.webp") == ErrorCode::kUnsupported);
  CHECK(code_of("magic_only.png") == ErrorCode::kCorrupt);
  CHECK(code_of("magic_only.jpg") == ErrorCode::kCorrupt);
  CHECK(code_of("cut.jpg") == ErrorCode::kCorrupt);
  CHECK(code_of("cut.png") == ErrorCode::kCorrupt);
  CHECK(code_of("cut.webp") == ErrorCode::kCorrupt);
  CHECK(code_of("no_size.ppm") == ErrorCode::kCorrupt);
  CHECK(code_of("bomb.png") == ErrorCode::kOutOfMemory);
  CHECK(code_of("bomb.ppm") == ErrorCode::kOutOfMemory);
  CHECK(code_of("bomb.bmp") == ErrorCode::kOutOfMemory);
  CHECK(code_of(".") == ErrorCode::kIo);  // a folder
}

TEST_CASE("the limits are the caller's") {
  DecodeOptions few;
  few.max_pixels = 64 * 40 - 1;
  CHECK(load_picture(odd("base.png"), few).error().code == ErrorCode::kOutOfMemory);
  few.max_pixels = 64 * 40;
  CHECK(load_picture(odd("base.png"), few).ok());
  few.max_file_bytes = 10;
  CHECK(load_picture(odd("base.png"), few).error().code == ErrorCode::kOutOfMemory);
}

// libpng would allocate the gigabyte before it looks for it.
TEST_CASE("a PNG chunk that claims more than the file has is damage") {
  std::ifstream file(odd("exif6.png"), std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string_view type = "eXIf";
  const auto at = std::search(bytes.begin(), bytes.end(), type.begin(), type.end());
  REQUIRE(at - bytes.begin() >= 4);
  *(at - 4) = 0x49;
  const auto picture = decode_picture(bytes, "huge.png", {});
  REQUIRE_FALSE(picture.ok());
  CHECK(picture.error().code == ErrorCode::kCorrupt);
  CHECK_THAT(picture.error().message,
             ContainsSubstring("a chunk of 12") && ContainsSubstring(" bytes before the end"));
}

// OpenCV gives what libwebp refuses to the decoder of DICOM, which ends the process.
TEST_CASE("a file that OpenCV may take for DICOM is not decoded") {
  std::ifstream file(odd("lossy.webp"), std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.resize(200);
  std::fill(bytes.begin() + 20, bytes.end(), std::uint8_t{0});
  const std::string_view mark = "DICM";
  std::copy(mark.begin(), mark.end(), bytes.begin() + 128);
  const auto picture = decode_picture(bytes, "mark.webp", {});
  REQUIRE_FALSE(picture.ok());
  bytes[26] = bytes[28] = 9;  // a size, so that only the decoder is left to refuse it
  const auto sized = decode_picture(bytes, "mark.webp", {});
  REQUIRE_FALSE(sized.ok());
  CHECK_THAT(sized.error().message, ContainsSubstring("the mark of DICOM at byte 128"));
}

TEST_CASE("any cut or flipped file gives a picture or an error") {
  const auto name = GENERATE(as<std::string>{}, "rgb.jpg", "base.png", "lossy.webp", "rgb.tif",
                             "rgb.bmp", "rgb.ppm", "exif6.jpg");
  std::ifstream file(odd(name), std::ios::binary);
  const std::vector<std::uint8_t> whole{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(whole.empty());
  std::uint32_t random = 12345;
  for (std::size_t i = 0; i < 150; ++i) {
    random = random * 1664525 + 1013904223;
    std::vector<std::uint8_t> bytes = whole;
    if (i % 3 == 0) {
      bytes.resize(random % bytes.size());
    } else {
      // Mostly in the header, where the sizes are.
      bytes[(random >> 8) %
            (i % 3 == 1 ? std::min<std::size_t>(64, bytes.size()) : bytes.size())] ^=
          static_cast<std::uint8_t>(1u << (random & 7));
    }
    DecodeOptions options;
    options.max_pixels = 1 << 20;
    const auto picture = decode_picture(bytes, name, options);
    if (picture) {
      CHECK(picture->bgr.size() == std::size_t{picture->width} * picture->height * 3);
    } else {
      CHECK_FALSE(picture.error().message.empty());
    }
  }
}

TEST_CASE("an EXIF block that lies is orientation 1") {
  using Bytes = std::vector<std::uint8_t>;
  CHECK(ocr::exif_orientation(Bytes{}) == 1);
  CHECK(ocr::exif_orientation(Bytes{'I', 'I', '*', 0}) == 1);
  // The directory is far outside.
  CHECK(ocr::exif_orientation(Bytes{'I', 'I', '*', 0, 0xff, 0xff, 0xff, 0xff}) == 1);
  // One entry, big-endian, orientation 6; then 9, which does not exist.
  Bytes block = {'M', 'M', 0, '*', 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0};
  CHECK(ocr::exif_orientation(block) == 6);
  block[19] = 9;
  CHECK(ocr::exif_orientation(block) == 1);
  // 65535 entries are announced, one is there.
  block[19] = 3, block[8] = 0xff, block[9] = 0xff;
  CHECK(ocr::exif_orientation(block) == 3);
}
