// SPDX-License-Identifier: Apache-2.0
// A bound that the TOML parser lacks: it makes one table inside another for every part of a dotted
// key, without a limit, and takes them apart by recursion.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace spirkiln::tool {

// No key of ours has more than five. Values nest at most 256 deep (the parser's own bound), each
// with a key of this many parts at most.
inline constexpr std::size_t kMaxKeyParts = 16;

struct TextPosition {
  unsigned line = 1;
  unsigned column = 1;  // in bytes
};

// Where the first key of more than kMaxKeyParts parts begins.
std::optional<TextPosition> find_deep_key(std::string_view toml);

}  // namespace spirkiln::tool
