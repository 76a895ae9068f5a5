// SPDX-License-Identifier: Apache-2.0
// Files that ask for too much, are damaged, or hold more than one picture: what is said of them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ocr/decode.hpp"
#include "spirkiln/ocr.hpp"

using namespace spirkiln;

namespace {

std::string odd(const std::string& name) {
  const char* folder = std::getenv("SPIRKILN_ODD_FILES");
  REQUIRE(folder != nullptr);
  return std::string(folder) + "/" + name;
}

std::vector<std::uint8_t> bytes_of(const std::string& name) {
  std::ifstream file(odd(name), std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(bytes.empty());
  return bytes;
}

struct Read {
  Result<Picture> picture;
  std::vector<std::string> warnings;
};

Read read(const std::string& name) {
  std::vector<std::string> warnings;
  DecodeOptions options;
  options.message = [&](Severity severity, std::string_view text) {
    CHECK(severity == Severity::kWarning);
    warnings.emplace_back(text);
  };
  auto picture = load_picture(odd(name), options);
  return {std::move(picture), std::move(warnings)};
}

// The error of a file, which names the file and says this.
ErrorCode code_of(const std::string& name, const std::string& words) {
  const Read result = read(name);
  REQUIRE_FALSE(result.picture.ok());
  const std::string& message = result.picture.error().message;
  CAPTURE(message);
  CHECK(message.starts_with(odd(name) + ": "));
  CHECK(message.find(words) != std::string::npos);
  CHECK(message.find('\n') == std::string::npos);
  return result.picture.error().code;
}

}  // namespace

TEST_CASE("what a file asks for is checked before it is decoded, and the reason is told") {
  CHECK(code_of("bomb_tiles.tif", "tiles of 32768 x 32768 pixels in a picture of 16 x 16") ==
        ErrorCode::kUnsupported);
  // 9000 * 9000 pixels of 12 bytes, and as much again for the one strip.
  CHECK(code_of("bomb_floats.tif", "1944000000 bytes to decode, more than 16 for each pixel") ==
        ErrorCode::kOutOfMemory);
  CHECK(code_of("bomb_samples.tif", "60000 samples of 8 bits") == ErrorCode::kOutOfMemory);
  CHECK(code_of("no_kind_jbig.tif", "JBIG") == ErrorCode::kUnsupported);
  CHECK(code_of("bomb_wide.png", "may have 1000000") == ErrorCode::kUnsupported);
  CHECK(code_of("bomb_wide.pgm", "may have 1048576") == ErrorCode::kUnsupported);
  CHECK(code_of("bomb_scans.jpg", "more than 100 scans") == ErrorCode::kUnsupported);
  CHECK(code_of("no_kind_doubles.tif", "3 samples of 64 bits") == ErrorCode::kUnsupported);
  CHECK(code_of("no_kind_signed.tif", "signed") == ErrorCode::kUnsupported);
  CHECK(code_of("animated.webp", "animation") == ErrorCode::kUnsupported);
}

TEST_CASE("the memory of a decode follows the caller's limit of pixels") {
  // 64 x 40 pixels of three floats, in one strip: 24 bytes each.
  const auto bytes = bytes_of("float_rgb.tif");
  DecodeOptions options;
  options.max_pixels = 64 * 40 * 24 / 16;
  CHECK(decode_picture(bytes, "floats", options).ok());
  options.max_pixels = 64 * 40;
  CHECK(decode_picture(bytes, "floats", options).error().code == ErrorCode::kOutOfMemory);
}

TEST_CASE("tags of any integer type are seen") {
  // A TIFF header, then 16 x 16 pixels with TileWidth 1 << 20 as a value of this type.
  const auto [type, value] = GENERATE(std::pair{4, 1u << 20}, std::pair{9, 1u << 20},
                                      std::pair{3, 65535u}, std::pair{8, 32767u});
  CAPTURE(type);
  std::vector<std::uint8_t> bytes = {'I', 'I', '*', 0, 8, 0, 0, 0, 4, 0};
  const auto entry = [&](std::uint32_t tag, std::uint32_t t, std::uint32_t v) {
    for (const std::uint32_t half : {tag, t, 1u, 0u, v & 0xffff, v >> 16}) {
      bytes.push_back(static_cast<std::uint8_t>(half));
      bytes.push_back(static_cast<std::uint8_t>(half >> 8));
    }
  };
  entry(256, 4, 16), entry(257, 4, 16);
  entry(322, static_cast<std::uint32_t>(type), value), entry(323, 4, 1u << 20);
  bytes.resize(bytes.size() + 4);
  const auto header = ocr::read_picture_header(bytes);
  REQUIRE(header.has_value());
  CHECK(header->width == 16);
  CHECK(header->unsupported.starts_with("tiles of " + std::to_string(value) + " x "));
}

TEST_CASE("a JPEG that lost a part of itself is an error, its end marker or not") {
  const auto form = GENERATE(as<std::string>{}, "", "_progressive");
  CAPTURE(form);
  CHECK(read("noise" + form + ".jpg").picture.ok());
  CHECK(code_of("cut_middle" + form + ".jpg", "JPEG data") == ErrorCode::kCorrupt);
  CHECK(code_of("cut_end" + form + ".jpg", "JPEG data") == ErrorCode::kCorrupt);
}

TEST_CASE("a JPEG with a hole is not read without a word") {
  // Zeros are valid codes: too few of them leave pixels, too many leave bytes.
  const Read hole = read("hole.jpg");
  CHECK((!hole.picture.ok() || hole.warnings.size() == 1));
  CHECK(code_of("cut_hole_progressive.jpg", "JPEG data") == ErrorCode::kCorrupt);
}

TEST_CASE("bytes of a JPEG that belong to nothing are a warning, padding is none") {
  const Read padded = read("padded.jpg");
  REQUIRE(padded.picture.ok());
  REQUIRE(padded.warnings.size() == 1);
  CHECK(padded.warnings[0].starts_with(odd("padded.jpg") + ": "));
  CHECK(padded.warnings[0].find("may be damaged") != std::string::npos);
  const Read little = read("padded_a_little.jpg");
  REQUIRE(little.picture.ok());
  CHECK(little.warnings.empty());
  CHECK(little.picture->bgr == load_picture(odd("rgb.jpg"))->bgr);
}

TEST_CASE("a scan that is repeated changes nothing") {
  CHECK(load_picture(odd("scans_80.jpg"))->bgr == load_picture(odd("scans.jpg"))->bgr);
}

TEST_CASE("of several pages the first is read, and that is said") {
  const Read pages = read("pages.tif");
  REQUIRE(pages.picture.ok());
  CHECK(pages.picture->bgr == load_picture(odd("base.png"))->bgr);
  REQUIRE(pages.warnings.size() == 1);
  CHECK(pages.warnings[0].starts_with(odd("pages.tif") + ": "));
  CHECK(pages.warnings[0].find("3 pages") != std::string::npos);
  const Read frames = read("frames.png");
  REQUIRE(frames.picture.ok());
  CHECK(frames.picture->bgr == load_picture(odd("base.png"))->bgr);
  REQUIRE(frames.warnings.size() == 1);
  CHECK(frames.warnings[0].find("2 frames") != std::string::npos);
  CHECK(read("with_thumbnail.tif").warnings.empty());
  CHECK(load_picture(odd("pages.tif")).ok());  // no one listens
}

TEST_CASE("directories that go round in a circle are counted no further than libtiff does") {
  // Two empty directories, each the other's next.
  const std::vector<std::uint8_t> bytes = {'I', 'I', '*', 0, 8, 0, 0, 0, 0, 0,
                                           14,  0,   0,   0, 0, 0, 8, 0, 0, 0};
  const auto header = ocr::read_picture_header(bytes);
  REQUIRE(header.has_value());
  CHECK(header->pages == 65535);
}

TEST_CASE("what is no number in a picture of floats is no extreme") {
  const Read holes = read("not_finite.tif");
  REQUIRE(holes.picture.ok());
  const auto& bgr = holes.picture->bgr;
  const auto plain = load_picture(odd("float_grey.tif"));
  REQUIRE(plain.ok());
  for (std::size_t i = 0; i < bgr.size(); ++i) {
    const int expected = i < 9 ? 0 : plain->bgr[i];  // three pixels are no numbers
    if (bgr[i] != expected) FAIL("byte " << i << " is " << int{bgr[i]});
  }
}
