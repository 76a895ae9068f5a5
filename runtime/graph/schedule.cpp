// SPDX-License-Identifier: Apache-2.0
#include "graph/schedule.hpp"

#include <algorithm>
#include <numeric>

namespace spirkiln {

std::vector<std::uint32_t> dependency_waves(const Program& program) {
  // First wave in which a buffer may be read, and in which it may be written again.
  std::vector<std::uint32_t> readable(program.buffers.size(), 0);
  std::vector<std::uint32_t> writable(program.buffers.size(), 0);
  std::vector<std::uint32_t> waves;
  for (const Step& step : program.steps) {
    std::uint32_t wave = 0;
    for (const Use& use : step.uses) {
      if (use.reads) wave = std::max(wave, readable[use.buffer]);
      if (use.writes) wave = std::max(wave, writable[use.buffer]);
    }
    for (const Use& use : step.uses) {
      if (use.writes) readable[use.buffer] = std::max(readable[use.buffer], wave + 1);
      writable[use.buffer] = std::max(writable[use.buffer], wave + 1);
    }
    waves.push_back(wave);
  }
  return waves;
}

std::vector<std::uint32_t> order_by_wave(Program* program) {
  const std::vector<std::uint32_t> waves = dependency_waves(*program);
  std::vector<std::size_t> order(waves.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return waves[a] < waves[b]; });
  std::vector<Step> steps;
  std::vector<std::uint32_t> sorted;
  for (const std::size_t i : order) {
    steps.push_back(std::move(program->steps[i]));
    sorted.push_back(waves[i]);
  }
  program->steps = std::move(steps);
  return sorted;
}

}  // namespace spirkiln
