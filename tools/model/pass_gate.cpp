// SPDX-License-Identifier: Apache-2.0
// x + x * g = x * (1 + g): the addition moves into the gate's own epilogue, where it is one number
// a channel instead of one more tensor to read.
#include "passes.hpp"

namespace spirkiln::packer {

bool pass_gate(Graph& graph) {
  const Links links(graph);
  for (Node& add : graph.nodes) {
    if (add.kind != Kind::kBinary || add.binary != model::BinaryOp::kAdd || add.has_residual) {
      continue;
    }
    for (std::size_t side = 0; side < 2; ++side) {
      const int x = add.inputs[1 - side];
      const int m = links.private_producer(add.inputs[side]);
      if (m < 0) continue;
      Node& mul = graph.nodes[static_cast<std::size_t>(m)];
      if (mul.kind != Kind::kBinary || mul.binary != model::BinaryOp::kMul ||
          !mul.plain_epilogue() || mul.inputs[0] != x) {
        continue;
      }
      const int g = links.private_producer(mul.inputs[1]);
      if (g < 0) continue;
      Node& gate = graph.nodes[static_cast<std::size_t>(g)];
      if (gate.kind != Kind::kSqueezeExcite || gate.has_residual) continue;
      gate.post_bias += 1;
      add.binary = model::BinaryOp::kMul;
      add.inputs = {x, mul.inputs[1]};
      mul.dead = true;
      return true;
    }
  }
  return false;
}

}  // namespace spirkiln::packer
