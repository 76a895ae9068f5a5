// SPDX-License-Identifier: Apache-2.0
// Two 1x1 convolutions in a row on a tensor of height and width 1: the gate of a squeeze-excite
// block, which one small dispatch computes.
#include "passes.hpp"

namespace spirkiln::packer {
namespace {

// The middle must fit into shared memory.
constexpr int kMaxMiddle = 1024;

}  // namespace

bool pass_squeeze_excite(Graph& graph) {
  const Links links(graph);
  for (Node& second : graph.nodes) {
    if (!is_pointwise(second) || second.has_residual) continue;
    const int i = links.private_producer(second.inputs[0]);
    if (i < 0) continue;
    Node& first = graph.nodes[static_cast<std::size_t>(i)];
    if (!is_pointwise(first) || first.has_residual || first.post_scale != 1 || first.post_bias != 0)
      continue;
    const Dims& dims = graph.tensors[static_cast<std::size_t>(first.inputs[0])].dims;
    if (!dims[kH].is(1) || !dims[kW].is(1) || first.channels_out > kMaxMiddle) continue;
    second.kind = Kind::kSqueezeExcite;
    second.inputs = first.inputs;
    second.channels_mid = first.channels_out;
    second.channels_in = first.channels_in;
    second.weights2 = std::move(second.weights);
    second.scale2 = std::move(second.scale);
    second.bias2 = std::move(second.bias);
    second.weights = std::move(first.weights);
    second.scale = std::move(first.scale);
    second.bias = std::move(first.bias);
    second.mid_act = first.act;
    second.mid_a = first.act_a;
    second.mid_b = first.act_b;
    first.dead = true;
    return true;
  }
  return false;
}

}  // namespace spirkiln::packer
