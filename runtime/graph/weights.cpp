// SPDX-License-Identifier: Apache-2.0
#include "graph/weights.hpp"

#include <cstring>

#include "graph/half.hpp"

namespace spirkiln {

WeightLayout lay_out_weights(const Model::State& model, bool fp32, std::uint64_t alignment) {
  WeightLayout layout;
  layout.fp32 = fp32;
  for (const model::Const& c : model.consts) {
    const bool half = c.type == model::ConstType::kHalfPair && !fp32;
    const std::uint64_t bytes = (c.elements * (half ? 2 : 4) + 15) / 16 * 16;
    layout.places.push_back({layout.bytes, bytes});
    layout.bytes += (bytes + alignment - 1) / alignment * alignment;
  }
  return layout;
}

void fill_weights(const Model::State& model, const WeightLayout& layout,
                  std::span<std::byte> out) {
  std::memset(out.data(), 0, out.size());
  for (std::size_t i = 0; i < model.consts.size(); ++i) {
    const model::Const& c = model.consts[i];
    std::byte* to = out.data() + layout.places[i].offset;
    const auto hi = model.plane(c);
    if (c.type == model::ConstType::kFloat32 || !layout.fp32) {
      std::memcpy(to, hi.data(), hi.size());
      continue;
    }
    const auto lo = model.plane(c, true);
    for (std::size_t e = 0; e < c.elements; ++e) {
      std::uint16_t h, l;
      std::memcpy(&h, hi.data() + 2 * e, 2);
      std::memcpy(&l, lo.data() + 2 * e, 2);
      const float value = half_to_float(h) + half_to_float(l) * 0x1p-12f;
      std::memcpy(to + 4 * e, &value, 4);
    }
  }
}

}  // namespace spirkiln
