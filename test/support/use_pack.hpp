// SPDX-License-Identifier: Apache-2.0
// A pack as far as a plan goes without a device: for packs that were damaged on purpose.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/model.hpp"
#include "graph/plan.hpp"

namespace spirkiln::test {

// Loads and, where that succeeds, goes on as far as a plan goes without a device.
inline Status use_pack(std::vector<std::byte> bytes) {
  auto model = Model::from_bytes(std::move(bytes), "pack");
  if (!model) return std::move(model).error();
  for (const InputShape shape : {InputShape{1, 7, 9}, {3, 64, 33}, {1, 1, 1}}) {
    auto shapes = tensor_shapes(*model->state(), shape);
    if (!shapes) continue;
    DeviceTraits traits;
    for (const model::Node& n : model->state()->nodes) {
      LowerRequest request{n, {}, (*shapes)[n.output], traits};
      for (const std::uint32_t t : model->state()->inputs_of(n)) {
        request.inputs.push_back((*shapes)[t]);
      }
      (void)lower_node(request).ok();
    }
  }
  for (const bool fp32 : {false, true}) {
    const WeightLayout layout = lay_out_weights(*model->state(), fp32, 64);
    std::vector<std::byte> out(layout.bytes);
    if (!out.empty()) fill_weights(*model->state(), layout, out);
  }
  return Ok{};
}

}  // namespace spirkiln::test
