// SPDX-License-Identifier: Apache-2.0
// What an instrumented kernel writes down, and what its sites are: between the pass, the run and
// the analysis.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace spirkiln::access {

enum class Space : std::uint8_t {
  kBuffer,   // a storage buffer
  kUniform,  // a uniform buffer
  kShared,   // workgroup memory
  kImage,    // a storage image, or a sampled one read by texelFetch: whole-number coordinates
  kSampled,  // a sampled image, normalised coordinates (one or two)
};
enum class Access : std::uint8_t { kLoad, kStore, kAtomic };

// One instruction of the module that touches memory.
struct Site {
  std::string file;  // as the module names it; empty where it has no lines
  std::uint32_t line = 0;
  Space space = Space::kBuffer;
  Access access = Access::kLoad;
  std::string name;           // the buffer's member, the shared variable, the image
  std::uint32_t resource = 0; // set << 16 | binding; of a shared variable, its id
  std::uint32_t bytes = 0;    // that one invocation asks for; 0 for texels, whose format decides
  // Of a cooperative matrix, which a subgroup asks for together: its rows or columns, as they lie
  // in memory, and how long one is. 0: an access of one invocation.
  std::uint32_t matrix_lines = 0, matrix_line_bytes = 0;
  // Shared variables only: their size. Of other resources the run knows it.
  std::uint64_t resource_bytes = 0;
};

// An access that the pass cannot follow, so nobody takes silence for efficiency.
struct Untraced {
  std::string file;
  std::uint32_t line = 0;
  std::string why;
};

// One access of one invocation. `a` and `b`: the byte offset and 0; of a texel x and y | z << 16;
// of a sample the bits of the two floats; of a cooperative matrix the offset of its first line and
// the bytes from one to the next, the same for each invocation of the subgroup.
struct Record {
  std::uint32_t site_and_local;  // site | local linear << 16
  std::uint32_t group;  // linear
  std::uint32_t a, b;

  std::uint32_t site() const { return site_and_local & 0xffff; }
  std::uint32_t local() const { return site_and_local >> 16; }
};
static_assert(sizeof(Record) == 16);

// The trace buffer: these words, then records in the order of their writing. The records of one
// invocation are in the order of its program.
struct TraceHeader {
  std::uint32_t count = 0;  // atomic; may pass `capacity`
  std::uint32_t capacity = 0;  // records
  std::uint32_t first = 0;  // groups `first`, `first` + `step`, ... are traced
  std::uint32_t step = 1;
  std::uint32_t lost_low = 0, lost_high = 0;  // records that did not fit
  std::uint32_t flops_low = 0, flops_high = 0;  // of the traced groups
  std::uint32_t only_traced = 0;  // other groups return at once
  std::uint32_t unused[3] = {};
};
static_assert(sizeof(TraceHeader) == 48);

struct Trace {
  std::vector<Record> records;
  std::uint64_t lost = 0;
  std::uint64_t flops = 0;
  std::uint64_t traced_groups = 0;  // of `groups`
  std::uint64_t groups = 0;
};

}  // namespace spirkiln::access
