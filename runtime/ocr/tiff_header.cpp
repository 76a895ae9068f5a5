// SPDX-License-Identifier: Apache-2.0
#include "ocr/tiff_header.hpp"

#include <algorithm>
#include <cstring>

namespace spirkiln::ocr {
namespace {

enum Tag : std::uint32_t {
  kNewSubfileType = 254,
  kImageWidth = 256,
  kImageLength = 257,
  kBitsPerSample = 258,
  kCompression = 259,
  kPhotometric = 262,
  kOrientation = 274,
  kSamplesPerPixel = 277,
  kRowsPerStrip = 278,
  kTileWidth = 322,
  kTileLength = 323,
  kSampleFormat = 339,
};

std::uint32_t byte_at(Bytes b, std::size_t i) { return i < b.size() ? b[i] : 0; }

// A directory is a page unless it is a smaller copy (1) or a mask (4) of one.
bool is_page(const Tiff& tiff, std::uint64_t directory) {
  return (tiff.tag(directory, kNewSubfileType, 0) & 5u) == 0;
}

std::uint64_t count_pages(const Tiff& tiff) {
  constexpr std::uint64_t kMost = 65535;  // libtiff's limit; directories may go round in a circle
  std::uint64_t pages = 0;
  std::uint64_t directory = tiff.first_directory();
  for (std::uint64_t i = 0; i < kMost && directory != 0; ++i) {
    if (is_page(tiff, directory)) ++pages;
    directory = tiff.next_directory(directory);
  }
  return std::max<std::uint64_t>(pages, 1);
}

}  // namespace

std::uint32_t Tiff::u16(std::size_t i) const {
  return big_endian ? byte_at(bytes, i) << 8 | byte_at(bytes, i + 1)
                    : byte_at(bytes, i) | byte_at(bytes, i + 1) << 8;
}

std::uint32_t Tiff::u32(std::size_t i) const {
  return big_endian ? u16(i) << 16 | u16(i + 2) : u16(i) | u16(i + 2) << 16;
}

bool Tiff::open(Bytes b) {
  bytes = b;
  big_endian = b.size() >= 4 && std::memcmp(b.data(), "MM\0*", 4) == 0;
  return big_endian || (b.size() >= 4 && std::memcmp(b.data(), "II*\0", 4) == 0);
}

std::uint64_t Tiff::tag(std::uint64_t directory, std::uint32_t wanted,
                        std::uint64_t fallback) const {
  const std::uint32_t entries = u16(directory);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + std::size_t{i} * 12;
    if (entry + 12 > bytes.size()) break;
    if (u16(entry) != wanted) continue;
    // All integers that libtiff takes, signed ones too; what does not fit the entry lies elsewhere.
    const std::uint32_t type = u16(entry + 2), count = u32(entry + 4);
    const std::uint32_t size = type == 1 || type == 6     ? 1
                               : type == 3 || type == 8   ? 2
                               : type == 4 || type == 9   ? 4
                               : type == 16 || type == 17 ? 8
                                                          : 0;
    if (size == 0 || count == 0) return fallback;
    const std::size_t at = std::uint64_t{size} * count > 4 ? u32(entry + 8) : entry + 8;
    if (size == 1) return byte_at(bytes, at);
    if (size == 2) return u16(at);
    if (size == 4) return u32(at);
    const std::uint64_t first = u32(at), second = u32(at + 4);
    return big_endian ? first << 32 | second : second << 32 | first;
  }
  return fallback;
}

std::uint64_t Tiff::next_directory(std::uint64_t directory) const {
  return u32(directory + 2 + std::uint64_t{u16(directory)} * 12);
}

void read_tiff(const Tiff& tiff, PictureHeader& header) {
  const std::uint64_t directory = tiff.first_directory();
  const auto tag = [&](Tag wanted, std::uint64_t fallback) {
    return tiff.tag(directory, wanted, fallback);
  };
  header.width = tag(kImageWidth, 0);
  header.height = tag(kImageLength, 0);
  header.orientation = exif_orientation(tiff.bytes);
  header.pages = count_pages(tiff);
  const std::uint64_t bits = tag(kBitsPerSample, 1), samples = tag(kSamplesPerPixel, 1);
  const std::uint64_t compression = tag(kCompression, 1), format = tag(kSampleFormat, 1);
  const std::uint64_t photometric = tag(kPhotometric, 0);
  header.details = std::to_string(samples) + " samples of " + std::to_string(bits) +
                   (format == 3 ? " bits in floating point" : " bits") + ", compression " +
                   std::to_string(compression);
  constexpr std::uint64_t kMost = 1u << 20;  // of a side: nothing below overflows
  if (header.width == 0 || header.height == 0 || header.width > kMost || header.height > kMost) {
    return;
  }

  constexpr std::uint64_t kJbig = 34661;
  if (compression == kJbig) {  // its decoder allocates what the data asks for, and aborts
    header.unsupported = "JBIG compression";
    return;
  }
  if (bits > 64 || samples > 65535 || (bits == 64 && samples != 1)) {
    header.unsupported = header.details;
    return;
  }

  // OpenCV decodes a tile or a strip at once, into samples, and these into pixels of up to 8 bytes
  // where they are not of 16, 32 or 64 bits.
  const std::uint64_t pixels = header.width * header.height;
  std::uint64_t across = tag(kTileWidth, 0), down = tag(kTileLength, 0);
  std::uint64_t rows = down;  // that there are
  if (across != 0 || down != 0) {
    // Tiles are as a rule of 256 x 256 pixels, and a picture may be smaller than one.
    constexpr std::uint64_t kLargeTile = 2048 * 2048;
    if (across > kMost || down > kMost || across * down > std::max(pixels, kLargeTile)) {
      header.unsupported = "tiles of " + std::to_string(across) + " x " + std::to_string(down) +
                           " pixels in a picture of " + std::to_string(header.width) + " x " +
                           std::to_string(header.height);
      return;
    }
  } else {
    constexpr std::uint64_t kAll = 0xffffffff;
    across = header.width;
    down = tag(kRowsPerStrip, kAll);
    if (down == 0 || down >= kAll) down = header.height;
    rows = std::min(down, header.height);
  }
  constexpr std::uint64_t kLogL = 32844, kLogLuv = 32845;
  const bool floats = photometric == kLogL || photometric == kLogLuv;
  const std::uint64_t stored = floats ? 12 : (samples * bits + 7) / 8;
  const std::uint64_t sample = floats ? 4 : bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
  const std::uint64_t channels = std::clamp<std::uint64_t>(samples, sample == 1 ? 3 : 1, 4);
  const bool direct = bits >= 16 && photometric <= 2 && samples <= 4;
  const std::uint64_t piece = across * rows * stored + (direct ? 0 : across * down * 8);
  const std::uint64_t copies = header.orientation >= 5 ? 2 : 1;  // the second one is turned
  header.decode_bytes = pixels * channels * sample * copies + std::max(piece, pixels * channels);
}

int exif_orientation(Bytes bytes) {
  Tiff tiff;
  if (!tiff.open(bytes)) return 1;
  const std::uint64_t value = tiff.tag(tiff.first_directory(), kOrientation, 1);
  return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
}

}  // namespace spirkiln::ocr
