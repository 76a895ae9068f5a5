// SPDX-License-Identifier: Apache-2.0
#include "graph/weights.hpp"

#include <bit>
#include <cstring>

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

namespace {

// hi + lo * 2^-12 of finite halves, without a branch so that the loop becomes vector code: shifted
// into a float's place a half is too small by 2^112, subnormals included.
float sum_of(std::uint16_t hi, std::uint16_t lo) {
  auto widen = [](std::uint16_t h) {
    const std::uint32_t magnitude = static_cast<std::uint32_t>(h & 0x7fffu) << 13;
    const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
    const float value = std::bit_cast<float>(magnitude) * 0x1p112f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  };
  return widen(hi) + widen(lo) * 0x1p-12f;
}

}  // namespace

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
    for (std::size_t e = 0; e < c.elements; ++e) values[e] = sum_of(h[e], l[e]);
  }
}

}  // namespace spirkiln
