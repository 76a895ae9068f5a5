// SPDX-License-Identifier: Apache-2.0
// Sections of untrusted bytes as spans of structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

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

}  // namespace spirkiln
