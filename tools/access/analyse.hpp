// SPDX-License-Identifier: Apache-2.0
// From a trace to what each site asks of memory. A pure function: no device, no files.
//
// The model, which is the same for every device:
// - A warp is `warp` consecutive local invocations. The n-th time that its invocations execute one
//   instruction is one request of the warp, whoever of them takes part.
// - A request to memory outside the workgroup moves the sectors that hold a byte of it, each once.
//   Nothing is cached between requests: what is moved again is counted again, and as a re-read.
// - The texels of an image lie in sectors of two dimensions, as wide as they are high or twice as
//   wide (eight texels of four bytes are 4 x 2). With a linear filter a sample asks for four
//   texels.
// - A cooperative matrix is one access of a subgroup. Each invocation takes 16 bytes of a line,
//   down the lines first, and where that is not the whole matrix the subgroup asks again.
// - Workgroup memory has `banks` banks of four bytes. A request of more than `banks` words is
//   served in parts, each of as many invocations as fill the banks once; in a part a bank gives one
//   word a step, to all that ask for that word.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace.hpp"

namespace spirkiln::access {

struct MemoryShape {
  std::uint32_t warp = 32;  // invocations
  std::uint32_t sector = 32;  // bytes that are moved together
  std::uint32_t line = 128;  // bytes of a cache line
  std::uint32_t banks = 32;  // of workgroup memory, four bytes wide
};

struct ImageShape {
  std::uint32_t width = 1, height = 1, depth = 1;
  std::uint32_t texel_bytes = 4;
  bool linear = false;  // filter
};

// How large what the sites touch is; by Site::resource.
struct Extents {
  std::map<std::uint32_t, std::uint64_t> buffers;  // bytes
  std::map<std::uint32_t, ImageShape> images;
};

enum class Pattern : std::uint8_t {
  kNone,  // never more than one invocation at a time
  kBroadcast,  // neighbours at the same address
  kSequential,  // neighbours behind one another, and no sector more than that takes
  kMisaligned,  // neighbours behind one another, but across the borders of sectors
  kStrided,  // neighbours a constant distance apart
  kRandom,
  kMatrix,  // lines of a cooperative matrix, a constant distance apart
};
std::string_view pattern_name(Pattern pattern);

struct SiteFigures {
  Site site;  // of its first instruction
  std::uint32_t instructions = 1;  // of the same line, name and kind, together here
  std::uint64_t accesses = 0;  // of invocations
  std::uint64_t requests = 0;  // of warps
  std::uint64_t asked = 0;  // bytes in bounds, of all invocations
  std::uint64_t sectors = 0;  // moved; 0 for workgroup memory
  std::uint64_t ideal_sectors = 0;  // that would hold the requests' distinct bytes
  std::uint64_t lines = 0;
  std::uint64_t again = 0;  // of the sectors: moved by the site before
  std::uint64_t out_of_bounds = 0;  // accesses; they ask for no byte, and move none
  Pattern pattern = Pattern::kNone;  // of most requests
  std::int64_t stride =
      0;  // bytes between neighbours, where it is kStrided; of a kMatrix between lines
  double pattern_share = 0;  // of the requests
  std::uint32_t worst_conflict = 0;  // steps of a part; 1: none. Workgroup memory
  double mean_conflict = 0;
  std::uint64_t bank_steps = 0, bank_parts = 0;  // whose quotient it is
  std::uint32_t least_active = 0, most_active = 0;  // invocations of a request

  std::uint64_t moved(const MemoryShape& shape) const { return sectors * shape.sector; }
  // Bytes asked / bytes moved; above 1 where invocations share bytes.
  double efficiency(const MemoryShape& shape) const;
  // Of the sectors moved, how many the bytes need: 1 at best.
  double packing() const;
  // Of the sectors moved, how many the site had moved before.
  double again_share() const;
};

// What a resource outside the workgroup, no uniform block, asks of the caches behind the first
// level. Sectors.
struct ResourceTraffic {
  std::uint64_t loaded = 0;  // by a group, each once, summed over groups
  std::uint64_t stored = 0;  // by stores and atomics, each time
  std::uint64_t touched = 0;  // by a group in any way, each once, summed over groups
};

struct Figures {
  MemoryShape shape;
  std::vector<SiteFigures> sites;  // in the order of the kernel's instructions
  std::uint64_t records = 0, lost = 0;
  std::uint64_t traced_groups = 0, groups = 0;
  // Of the traced groups, memory outside the workgroup.
  std::uint64_t asked = 0, moved = 0, ideal = 0;
  std::uint64_t distinct = 0;  // bytes of the sectors that were touched at all
  std::uint64_t line_steps = 0;  // lines of all requests but those to uniform blocks
  std::map<std::uint32_t, ResourceTraffic> traffic;  // by Site::resource
  std::uint64_t flops = 0;
  double intensity() const;  // flops a byte moved
  double scale() const;  // all groups / traced ones
  bool executed() const;  // any access at all
};

Figures analyse(const std::vector<Site>& sites, const Trace& trace, const Extents& extents,
                const MemoryShape& shape);

// The requests of a site for pictures: addresses by invocation.
struct Request {
  std::uint32_t group = 0, warp = 0, occurrence = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> lanes;  // in the warp; byte address
  std::uint32_t sectors = 0;
};
// The first `most` requests of the merged site, in order of group, warp and time.
std::vector<Request> first_requests(const std::vector<Site>& sites, const Trace& trace,
                                    const Extents& extents, const MemoryShape& shape,
                                    const SiteFigures& site, std::size_t most);

}  // namespace spirkiln::access
