// SPDX-License-Identifier: Apache-2.0
// The checksum of tables and packs, for those who read them and those who write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <xxhash.h>

namespace spirkiln {

// Of a whole file that begins with a `Header`: XXH3 with 64 bits of what is behind the header, with
// the same of the header (its field `checksum` as 0) as the seed. Every bit of the file is under
// it.
template <typename Header>
std::uint64_t file_checksum(std::span<const std::byte> file) {
  Header header;
  std::memcpy(&header, file.data(), sizeof header);
  header.checksum = 0;
  const std::uint64_t head = XXH3_64bits(&header, sizeof header);
  return XXH3_64bits_withSeed(file.data() + sizeof header, file.size() - sizeof header, head);
}

}  // namespace spirkiln
