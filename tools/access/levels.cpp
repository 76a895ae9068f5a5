// SPDX-License-Identifier: Apache-2.0
#include "levels.hpp"

#include <algorithm>

namespace spirkiln::access {
namespace {

double size_of(std::uint32_t resource, const Extents& extents) {
  if (const auto it = extents.images.find(resource); it != extents.images.end()) {
    const ImageShape& i = it->second;
    return static_cast<double>(std::uint64_t{i.width} * i.height * i.depth * i.texel_bytes);
  }
  const auto it = extents.buffers.find(resource);
  return it == extents.buffers.end() ? 0 : static_cast<double>(it->second);
}

}  // namespace

Levels levels_of(const Figures& f, const Extents& extents, const MemoryRates& rates) {
  const double scale = f.scale(), sector = f.shape.sector;
  std::uint64_t steps = 0;
  for (const SiteFigures& s : f.sites) steps += s.bank_steps;
  Levels out;
  out.lines = (static_cast<double>(f.line_steps) * f.shape.line +
               static_cast<double>(steps) * f.shape.banks * 4) *
              scale;
  double whole = 0, of_groups = 0;
  for (const auto& [resource, t] : f.traffic) {
    out.cache += static_cast<double>(t.loaded + t.stored) * sector * scale;
    const double touched = static_cast<double>(t.touched) * sector * scale;
    of_groups += touched;
    // Groups that were not traced touch other sectors, until there are no more.
    whole += std::min(touched, size_of(resource, extents));
  }
  if (whole <= rates.cache_bytes) return out;
  out.memory = whole + (of_groups - whole) * (1 - rates.cache_bytes / whole);
  return out;
}

double PredictedTime::us() const { return std::max({line_us, cache_us, memory_us}); }

PredictedTime time_of(const Levels& levels, const MemoryRates& rates) {
  if (rates.memory == 0) return {};
  // 10^9 bytes a second are 10^3 bytes a microsecond.
  return {levels.lines / rates.line / 1e3, levels.cache / rates.cache / 1e3,
          levels.memory / rates.memory / 1e3};
}

}  // namespace spirkiln::access
