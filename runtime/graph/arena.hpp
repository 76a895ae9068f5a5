// SPDX-License-Identifier: Apache-2.0
// Places buffers that live for part of a plan into one block of memory.
#pragma once

#include <cstdint>
#include <span>

#include "spirkiln/result.hpp"

namespace spirkiln {

struct ArenaItem {
  std::uint64_t bytes = 0;
  std::uint32_t first = 0, last = 0;  // steps, both included
  std::uint64_t offset = 0;           // out
};

// Sets every offset so that items that live at the same time do not overlap; offsets are multiples
// of `alignment` (a power of two). Gives the bytes of the block. Largest items first, each into the
// tightest gap that is free for its whole life. Errors: kUnsupported when the sum overflows.
Result<std::uint64_t> pack_arena(std::span<ArenaItem> items, std::uint64_t alignment);

}  // namespace spirkiln
