// SPDX-License-Identifier: Apache-2.0
// Sections of untrusted bytes as spans of structs, and what every reader of them asks. The tools'
// own readers use it, too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace spirkiln {

// `count` structs at `offset`, or nothing when they do not lie inside `bytes` or are not aligned.
template <typename T>
std::optional<std::span<const T>> section_of(std::span<const std::byte> bytes, std::uint64_t offset,
                                             std::uint64_t count) {
  if (count == 0) return std::span<const T>{};
  if (offset > bytes.size() || count > (bytes.size() - offset) / sizeof(T)) return std::nullopt;
  const std::byte* begin = bytes.data() + offset;
  if (reinterpret_cast<std::uintptr_t>(begin) % alignof(T) != 0) return std::nullopt;
  return std::span<const T>(reinterpret_cast<const T*>(begin), count);
}

// True when [first, first + count) lies in a section of `size` entries.
inline bool range_in(std::uint64_t first, std::uint64_t count, std::uint64_t size) {
  return count == 0 || (first < size && count <= size - first);
}

// True when a text of at most `max_bytes` begins at `offset` and ends with a NUL byte in `strings`.
inline bool string_in(std::span<const char> strings, std::uint64_t offset, std::size_t max_bytes) {
  if (offset >= strings.size()) return false;
  const std::size_t room = std::min(strings.size() - offset, max_bytes + 1);
  return std::memchr(strings.data() + offset, 0, room) != nullptr;
}

// Bytes [begin, end).
struct Stretch {
  std::uint64_t begin, end;
};

// Whether two of them share a byte.
inline bool overlap(std::vector<Stretch> stretches) {
  std::erase_if(stretches, [](const Stretch& s) { return s.begin >= s.end; });
  std::sort(stretches.begin(), stretches.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < stretches.size(); ++i) {
    if (stretches[i].begin < stretches[i - 1].end) return true;
  }
  return false;
}

}  // namespace spirkiln
