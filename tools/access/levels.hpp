// SPDX-License-Identifier: Apache-2.0
// How long a dispatch takes where memory decides, from its figures and the device's rates: made
// before anything is measured.
//
// Three levels work at the same time, and the slowest decides:
// - The first-level caches and workgroup memory give one line, or one step of the banks, at a time.
//   Each request takes as many as it touches lines or needs steps. Uniform blocks have a cache of
//   their own that is not counted.
// - The last cache gives what the first level has not: each sector that a group loads, once, since
//   the groups of a multiprocessor share its first level for a moment only. Stores and atomics go
//   through it each time.
// - Memory gives what the last cache has not. The dispatch is repeated: what fits into that cache
//   as a whole stays there. What does not is moved once, and of what other groups touch again, as
//   much as does not fit.
// Starts of groups, arithmetic and waiting are left out.
#pragma once

#include "analyse.hpp"

namespace spirkiln::access {

// 10^9 bytes a second of the whole device, and bytes; all 0 where nobody said them.
struct MemoryRates {
  double line = 0;  // first level and workgroup memory, lines and all banks
  double cache = 0;
  double memory = 0;
  double cache_bytes = 0;
};

// Bytes of the whole dispatch, all groups.
struct Levels {
  double lines = 0;  // lines and steps of the banks, as bytes
  double cache = 0;
  double memory = 0;
};

Levels levels_of(const Figures& figures, const Extents& extents, const MemoryRates& rates);

struct PredictedTime {
  double line_us = 0, cache_us = 0, memory_us = 0;
  double us() const;
};
// All 0 without rates.
PredictedTime time_of(const Levels& levels, const MemoryRates& rates);

}  // namespace spirkiln::access
