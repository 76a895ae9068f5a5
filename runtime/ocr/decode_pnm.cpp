// SPDX-License-Identifier: Apache-2.0
// PBM, PGM and PPM, plain and raw. Not through OpenCV: it scales samples by their greatest value in
// some of the forms only, and wants a newline behind the last number.
#include <algorithm>

#include "ocr/decode.hpp"

namespace spirkiln::ocr {
namespace {

bool is_space(std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(std::uint8_t c) { return c >= '0' && c <= '9'; }

// Numbers in text, with comments between them.
struct Numbers {
  Bytes bytes;
  std::size_t at = 0;

  void skip_space() {
    for (; at < bytes.size(); ++at) {
      if (bytes[at] == '#') {
        while (at < bytes.size() && bytes[at] != '\n' && bytes[at] != '\r') ++at;
        if (at == bytes.size()) return;
      } else if (!is_space(bytes[at])) {
        return;
      }
    }
  }
  // False where no number stands. Numbers of more than `digits` digits end there.
  bool next(std::uint32_t& value, int digits) {
    skip_space();
    if (at == bytes.size() || !is_digit(bytes[at])) return false;
    value = 0;
    for (; digits > 0 && at < bytes.size() && is_digit(bytes[at]); ++at, --digits) {
      value = value * 10 + (bytes[at] - '0');
    }
    return true;
  }
};

// Samples of a picture, one after the other, each 0..255.
struct Samples {
  std::uint32_t across = 0, down = 0;
  std::vector<std::uint8_t> level;  // of each stored value; larger ones have that of the last

  std::uint8_t of(std::uint32_t value) const {
    return level[std::min<std::size_t>(value, level.size() - 1)];
  }
};

std::string where(const Samples& samples, std::size_t index) {
  return "row " + std::to_string(index / samples.across + 1) + " of " +
         std::to_string(samples.down);
}

// Puts sample `index` of the file at its place in B G R.
struct Writer {
  std::vector<std::uint8_t>& bgr;
  bool colour;
  void put(std::size_t index, std::uint8_t level) {
    if (colour) {
      bgr[index - index % 3 + 2 - index % 3] = level;
    } else {
      std::fill_n(bgr.begin() + static_cast<std::ptrdiff_t>(index * 3), 3, level);
    }
  }
};

}  // namespace

Result<Picture> decode_pnm(Bytes bytes, const std::string& name, const PictureHeader& header) {
  const int kind = bytes[1] - '0';  // 1, 2, 3: plain PBM, PGM, PPM; 4, 5, 6: raw
  const bool bits = kind == 1 || kind == 4, colour = kind == 3 || kind == 6, raw = kind >= 4;
  Numbers numbers{bytes, 2};
  std::uint32_t width = 0, height = 0, greatest = 1;
  if (!numbers.next(width, 9) || !numbers.next(height, 9) || width != header.width ||
      height != header.height) {
    return damaged(name, header, "no width and height");
  }
  if (!bits && (!numbers.next(greatest, 9) || greatest < 1 || greatest > 65535)) {
    return damaged(name, header, "no greatest sample value from 1 to 65535 behind the size");
  }
  Samples samples{colour ? width * 3 : width, height, {}};
  for (std::uint32_t v = 0; v <= greatest; ++v) {
    const std::uint32_t level = (v * 255 + greatest / 2) / greatest;
    samples.level.push_back(static_cast<std::uint8_t>(bits ? 255 - level : level));
  }
  const std::size_t count = std::size_t{samples.across} * height;
  if (raw) ++numbers.at;  // one white space
  const Bytes data = bytes.subspan(std::min(numbers.at, bytes.size()));
  const std::size_t row_bytes = bits             ? (std::size_t{width} + 7) / 8
                                : greatest > 255 ? std::size_t{samples.across} * 2
                                                 : samples.across;
  // Of a plain file the least: a digit for each sample, and white space between numbers.
  const std::size_t least = raw ? row_bytes * height : bits ? count : count * 2;
  if (data.size() < least) {
    return damaged(name, header,
                   std::to_string(data.size()) + " bytes of pixels, expected " +
                       (raw ? "" : "at least ") + std::to_string(least));
  }
  Picture picture{width, height, {}};
  picture.bgr.resize(std::size_t{width} * height * 3);
  Writer writer{picture.bgr, colour};

  if (!raw) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t value = 0;
      if (!numbers.next(value, bits ? 1 : 9)) {
        return damaged(name, header, "no number where one should stand in " + where(samples, i));
      }
      writer.put(i, samples.of(value));
    }
    return picture;
  }
  std::size_t i = 0;
  for (std::uint32_t y = 0; y < height; ++y) {
    const Bytes row = data.subspan(y * row_bytes, row_bytes);
    for (std::uint32_t x = 0; x < samples.across; ++x, ++i) {
      const std::uint32_t value = bits             ? row[x / 8] >> (7 - x % 8) & 1u
                                  : greatest > 255 ? row[x * 2] * 256u + row[x * 2 + 1]
                                                   : row[x];
      writer.put(i, samples.of(value));
    }
  }
  return picture;
}

}  // namespace spirkiln::ocr
