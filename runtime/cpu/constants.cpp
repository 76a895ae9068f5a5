// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "cpu/step.hpp"
#include "graph/half.hpp"

namespace spirkiln::cpu {

std::vector<float> floats_of(const Model::State& model, std::uint32_t constant) {
  const model::Const& c = model.consts[constant];
  std::vector<float> values(c.elements);
  const auto high = model.plane(c);
  if (c.type == model::ConstType::kFloat32) {
    std::memcpy(values.data(), high.data(), values.size() * sizeof(float));
    return values;
  }
  // Planes are aligned to 16 bytes.
  const auto* hi = reinterpret_cast<const std::uint16_t*>(high.data());
  const auto* lo = reinterpret_cast<const std::uint16_t*>(model.plane(c, true).data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = half_pair_to_float(hi[i], lo[i]);
  }
  return values;
}

}  // namespace spirkiln::cpu
