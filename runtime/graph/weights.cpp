// SPDX-License-Identifier: Apache-2.0
#include "graph/weights.hpp"

#include <algorithm>
#include <cmath>
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

void fill_weights(const Model::State& model, const WeightLayout& layout, std::span<std::byte> out) {
  for (std::size_t i = 0; i < model.consts.size(); ++i) {
    const model::Const& c = model.consts[i];
    const WeightPlace& place = layout.places[i];
    std::byte* to = out.data() + place.offset;
    const auto hi = model.plane(c);
    if (c.type == model::ConstType::kFloat32 || !layout.fp32) {
      std::memcpy(to, hi.data(), hi.size());
      std::memset(to + hi.size(), 0, place.bytes - hi.size());
      continue;
    }
    // Planes and places are aligned to 16 bytes, and elements come in fours.
    const auto* h = reinterpret_cast<const std::uint16_t*>(hi.data());
    const auto* l = reinterpret_cast<const std::uint16_t*>(model.plane(c, true).data());
    auto* values = reinterpret_cast<float*>(to);
    for (std::size_t e = 0; e < c.elements; ++e) values[e] = half_pair_to_float(h[e], l[e]);
  }
}

namespace {

// Output channels are the columns of every weight.
std::int32_t columns_of(const model::Node& node, std::size_t k) {
  return node.op == model::Op::kSqueezeExcite && k == 0 ? node.i[12] : node.i[11];
}

}  // namespace

bool needs_subnormals(const Model::State& model) {
  for (const model::Node& node : model.nodes) {
    const auto consts = model.consts_of(node);
    for (std::size_t k = 0; k < consts.size(); ++k) {
      const model::Const& c = model.consts[consts[k]];
      const std::int32_t channels = columns_of(node, k);
      if (c.type != model::ConstType::kHalfPair || channels < 1) continue;
      const auto hi = model.plane(c);
      const auto* h = reinterpret_cast<const std::uint16_t*>(hi.data());
      std::vector<float> largest((static_cast<std::size_t>(channels) + 3) / 4 * 4);
      for (std::size_t e = 0; e < c.elements; ++e) {
        float& l = largest[e % largest.size()];
        l = std::max(l, std::abs(half_to_float(h[e])));
      }
      const auto small = [](float l) { return l > 0 && l < 0x1p-2f; };
      if (std::any_of(largest.begin(), largest.end(), small)) return true;
    }
  }
  return false;
}

}  // namespace spirkiln
