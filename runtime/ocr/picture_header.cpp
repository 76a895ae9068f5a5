// SPDX-License-Identifier: Apache-2.0
// Size and orientation from the first bytes of a file. A decoder allocates what the header asks
// for, so the header is read here first.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "ocr/decode.hpp"
#include "ocr/tiff_header.hpp"

namespace spirkiln::ocr {
namespace {

// All reads are bounded: outside of the bytes everything is 0.
std::uint32_t byte_at(Bytes b, std::size_t i) { return i < b.size() ? b[i] : 0; }
std::uint32_t be16(Bytes b, std::size_t i) { return byte_at(b, i) << 8 | byte_at(b, i + 1); }
std::uint32_t be32(Bytes b, std::size_t i) { return be16(b, i) << 16 | be16(b, i + 2); }
std::uint32_t le16(Bytes b, std::size_t i) { return byte_at(b, i) | byte_at(b, i + 1) << 8; }
std::uint32_t le24(Bytes b, std::size_t i) { return le16(b, i) | byte_at(b, i + 2) << 16; }
std::uint32_t le32(Bytes b, std::size_t i) { return le16(b, i) | le16(b, i + 2) << 16; }

bool has(Bytes b, std::size_t at, std::string_view text) {
  return at <= b.size() && b.size() - at >= text.size() &&
         std::memcmp(b.data() + at, text.data(), text.size()) == 0;
}

Bytes slice(Bytes b, std::size_t from, std::size_t size) {
  if (from >= b.size()) return {};
  return b.subspan(from, std::min(size, b.size() - from));
}

void read_png(Bytes b, PictureHeader& header) {
  header.max_side = 1'000'000;  // libpng's
  if (!has(b, 12, "IHDR")) return;
  header.width = be32(b, 16);
  header.height = be32(b, 20);
  bool exif = false;
  std::size_t at = 8;
  while (at + 12 <= b.size()) {
    const std::uint64_t length = be32(b, at);
    // libpng allocates what a chunk claims before it reads it.
    if (length > b.size() - at - 12) {
      header.damage = "a chunk of " + std::to_string(length) + " bytes begins " +
                      std::to_string(b.size() - at) + " bytes before the end";
      return;
    }
    if (has(b, at + 4, "eXIf") && !exif) {
      exif = true;
      header.orientation = exif_orientation(slice(b, at + 8, length));
    }
    if (has(b, at + 4, "acTL")) header.pages = std::max(1u, be32(b, at + 8));
    if (has(b, at + 4, "IEND")) return;
    at += 12 + length;
  }
}

void read_jpeg(Bytes b, PictureHeader& header) {
  std::size_t at = 2;
  while (at + 4 <= b.size()) {
    const std::uint32_t marker = b[at + 1];
    if (b[at] != 0xff || marker == 0xff) {  // garbage, or a fill byte
      ++at;
      continue;
    }
    if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {  // no length
      at += 2;
      continue;
    }
    if (marker == 0xd9 || marker == 0xda) return;
    const std::uint32_t length = be16(b, at + 2);
    const bool frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame) {
      header.height = be16(b, at + 5);
      header.width = be16(b, at + 7);
    }
    if (marker == 0xe1 && has(b, at + 4, std::string_view("Exif\0\0", 6)) && length > 8) {
      header.orientation = exif_orientation(slice(b, at + 10, length - 8));
    }
    at += 2 + std::size_t{length};
  }
}

void read_webp(Bytes b, PictureHeader& header) {
  if (has(b, 12, "VP8 ")) {
    header.width = le16(b, 26) & 0x3fff;
    header.height = le16(b, 28) & 0x3fff;
  } else if (has(b, 12, "VP8L")) {
    const std::uint32_t bits = le32(b, 21);
    header.width = (bits & 0x3fff) + 1;
    header.height = (bits >> 14 & 0x3fff) + 1;
  } else if (has(b, 12, "VP8X")) {
    header.width = le24(b, 24) + 1;
    header.height = le24(b, 27) + 1;
    if ((byte_at(b, 20) & 0x02) != 0) header.unsupported = "an animation";
  }
  std::size_t at = 12;
  while (at + 8 <= b.size()) {
    const std::uint64_t length = le32(b, at + 4);
    if (has(b, at, "EXIF")) {
      Bytes block = slice(b, at + 8, length);
      if (has(block, 0, std::string_view("Exif\0\0", 6))) block = block.subspan(6);
      header.orientation = exif_orientation(block);
      return;
    }
    at += 8 + length + (length & 1);
  }
}

void read_bmp(Bytes b, PictureHeader& header) {
  if (le32(b, 14) == 12) {  // OS/2
    header.width = le16(b, 18);
    header.height = le16(b, 20);
    return;
  }
  const auto magnitude = [](std::uint32_t v) -> std::uint64_t {
    return v & 0x80000000u ? 0x100000000u - std::uint64_t{v} : v;
  };
  header.width = magnitude(le32(b, 18));
  header.height = magnitude(le32(b, 22));
}

void read_pnm(Bytes b, PictureHeader& header) {
  std::array<std::uint64_t, 2> sizes{};
  std::size_t at = 2;
  for (std::uint64_t& size : sizes) {
    for (; at < b.size(); ++at) {
      if (b[at] == '#') {
        while (at < b.size() && b[at] != '\n') ++at;
      } else if (b[at] != ' ' && b[at] != '\t' && b[at] != '\r' && b[at] != '\n') {
        break;
      }
    }
    for (; at < b.size() && b[at] >= '0' && b[at] <= '9' && size < 1'000'000'000; ++at) {
      size = size * 10 + (b[at] - '0');
    }
  }
  header.width = sizes[0];
  header.height = sizes[1];
}

}  // namespace

std::optional<PictureHeader> read_picture_header(Bytes b) {
  PictureHeader header;
  Tiff tiff;
  if (has(b, 0, "\x89PNG\r\n\x1a\n")) {
    header.format = "PNG";
    read_png(b, header);
  } else if (has(b, 0, "\xff\xd8\xff")) {
    header.format = "JPEG";
    read_jpeg(b, header);
  } else if (has(b, 0, "RIFF") && has(b, 8, "WEBP")) {
    header.format = "WebP";
    read_webp(b, header);
  } else if (has(b, 0, "BM") && b.size() > 18) {
    header.format = "BMP";
    read_bmp(b, header);
  } else if (tiff.open(b)) {
    header.format = "TIFF";
    read_tiff(tiff, header);
  } else if (b.size() > 2 && b[0] == 'P' && b[1] >= '1' && b[1] <= '6' &&
             std::strchr(" \t\r\n", b[2]) != nullptr && b[2] != 0) {
    header.format = "PNM";
    read_pnm(b, header);
  } else {
    return std::nullopt;
  }
  return header;
}

}  // namespace spirkiln::ocr
