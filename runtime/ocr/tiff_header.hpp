// SPDX-License-Identifier: Apache-2.0
// The directories of a TIFF structure (a TIFF file, or an EXIF block).
#pragma once

#include "ocr/decode.hpp"

namespace spirkiln::ocr {

struct Tiff {
  Bytes bytes;
  bool big_endian = false;

  // False where the bytes begin like none.
  bool open(Bytes b);
  // The first value of an integer tag in the directory that lies at `directory`, else `fallback`.
  // Of two with one tag the first counts, as for libtiff.
  std::uint64_t tag(std::uint64_t directory, std::uint32_t wanted, std::uint64_t fallback) const;
  std::uint64_t first_directory() const { return u32(4); }
  // 0 behind the last one.
  std::uint64_t next_directory(std::uint64_t directory) const;

 private:
  std::uint32_t u16(std::size_t i) const;
  std::uint32_t u32(std::size_t i) const;
};

// Size, orientation, pages, and what libtiff will allocate.
void read_tiff(const Tiff& tiff, PictureHeader& header);

}  // namespace spirkiln::ocr
