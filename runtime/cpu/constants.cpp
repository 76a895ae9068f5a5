// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "cpu/step.hpp"
#include "graph/half.hpp"

namespace spirkiln::cpu {

void floats_of(const Model::State& model, std::uint32_t constant, std::size_t first,
               std::size_t count, float* out) {
  const model::Const& c = model.consts[constant];
  const auto high = model.plane(c);
  if (c.type == model::ConstType::kFloat32) {
    std::memcpy(out, high.data() + first * sizeof(float), count * sizeof(float));
    return;
  }
  // Planes are aligned to 16 bytes.
  const auto* hi = reinterpret_cast<const std::uint16_t*>(high.data()) + first;
  const auto* lo = reinterpret_cast<const std::uint16_t*>(model.plane(c, true).data()) + first;
  for (std::size_t i = 0; i < count; ++i) out[i] = half_pair_to_float(hi[i], lo[i]);
}

std::vector<float> floats_of(const Model::State& model, std::uint32_t constant) {
  std::vector<float> values(model.consts[constant].elements);
  floats_of(model, constant, 0, values.size(), values.data());
  return values;
}

}  // namespace spirkiln::cpu
