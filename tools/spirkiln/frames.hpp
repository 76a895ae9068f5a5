// SPDX-License-Identifier: Apache-2.0
// Coded modules into zstd frames, small enough that any one of them is quickly decoded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln::gen {

struct Placement {
  std::uint32_t frame;
  std::uint32_t offset;  // into the decoded frame
};

struct Frames {
  std::vector<std::string> packed;
  std::vector<std::uint32_t> raw_bytes;  // of each frame
  std::vector<Placement> placements;     // of each item
};

// Items follow one another in their order; a frame ends where the next group would make it longer
// than kFrameBytes, so that only a group that is longer than that itself is split. `groups` has the
// number of items of each group.
Result<Frames> make_frames(const std::vector<std::string>& items,
                           const std::vector<std::size_t>& groups, unsigned threads,
                           const Cache& cache);

// One frame of `raw`, from the cache where that has it. Errors: kOutOfMemory.
Result<std::string> compress(const std::string& raw, const Cache& cache);

}  // namespace spirkiln::gen
