// SPDX-License-Identifier: Apache-2.0
// Barriers only where bytes are really shared: a dependent dispatch costs more than most kernels.
#include <algorithm>

#include "graph/program.hpp"

namespace spirkiln {
namespace {

struct Range {
  Home home;
  std::uint64_t begin, end;
  bool overlaps(const Range& o) const { return home == o.home && begin < o.end && o.begin < end; }
};

bool any_overlap(const std::vector<Range>& list, const Range& range) {
  return std::any_of(list.begin(), list.end(), [&](const Range& r) { return r.overlaps(range); });
}

}  // namespace

std::uint32_t place_barriers(Program* program) {
  std::vector<Range> reads, writes;  // since the last barrier
  std::uint32_t count = 0;
  for (Step& step : program->steps) {
    step.barrier_before = false;
    auto range_of = [&](const Use& use) {
      const ProgramBuffer& b = program->buffers[use.buffer];
      return Range{b.home, b.offset, b.offset + b.bytes};
    };
    for (const Use& use : step.uses) {
      const Range range = range_of(use);
      const bool hazard = (use.reads && any_overlap(writes, range)) ||
                          (use.writes && (any_overlap(writes, range) || any_overlap(reads, range)));
      step.barrier_before = step.barrier_before || hazard;
    }
    if (step.barrier_before) {
      ++count;
      reads.clear();
      writes.clear();
    }
    for (const Use& use : step.uses) {
      if (use.reads) reads.push_back(range_of(use));
      if (use.writes) writes.push_back(range_of(use));
    }
  }
  return count;
}

void place_images(Program* program) {
  std::vector<bool> begun(program->buffers.size(), false);
  for (const Copy& load : program->loads) begun[load.to] = true;
  std::size_t barrier = 0;
  for (std::size_t i = 0; i < program->steps.size(); ++i) {
    Step& step = program->steps[i];
    step.begins.clear();
    if (step.barrier_before) barrier = i;
    for (const Use& use : step.uses) {
      if (!program->buffers[use.buffer].is_image() || begun[use.buffer]) continue;
      begun[use.buffer] = true;
      program->steps[barrier].begins.push_back(use.buffer);
    }
  }
}

}  // namespace spirkiln
