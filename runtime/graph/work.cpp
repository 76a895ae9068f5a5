// SPDX-License-Identifier: Apache-2.0
#include "graph/work.hpp"

#include <algorithm>

namespace spirkiln {

double step_work(const Program& program, const Step& step) {
  // A layer's weights are channels x taps, and its smallest constant is a float for each channel:
  // their ratio is what each value that is written adds up.
  double moved = 0, written = 0;
  std::uint64_t most = 0, least = 0;
  for (const Use& use : step.uses) {
    const ProgramBuffer& b = program.buffers[use.buffer];
    moved += static_cast<double>(b.bytes);
    if (use.writes) written += static_cast<double>(b.bytes);
    if (b.home != Home::kWeights || b.bytes == 0) continue;
    most = std::max(most, b.bytes);
    least = least == 0 ? b.bytes : std::min(least, b.bytes);
  }
  const double taps = least != 0 ? static_cast<double>(most) / static_cast<double>(least) : 1;
  return moved + written / 4 * taps;
}

std::vector<std::size_t> submission_begins(std::span<const double> work, double limit) {
  std::vector<std::size_t> begins = {0};
  double sum = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (limit > 0 && i > begins.back() && sum + work[i] > limit) {
      begins.push_back(i);
      sum = 0;
    }
    sum += work[i];
  }
  return begins;
}

}  // namespace spirkiln
