// SPDX-License-Identifier: Apache-2.0
// An addition of two tensors becomes the residual of one of the nodes that make them.
#include "passes.hpp"

namespace spirkiln::packer {
namespace {

using model::Activation;

// Which of two producers gains most: heavy nodes hide the extra read, a resize reads a smaller
// tensor than it writes.
int preference(const Node& n) {
  switch (n.kind) {
    case Kind::kConv:
    case Kind::kDepthwise:
    case Kind::kDeconv:
      return 3;
    case Kind::kResize:
      return 2;
    case Kind::kBinary:
    case Kind::kAffine:
      return 1;
    default:
      return 0;
  }
}

bool can_take(const Node& p, const Node& add) {
  if (preference(p) == 0 || p.has_residual) return false;
  const bool add_plain = add.act == Activation::kNone && add.post_scale == 1 && add.post_bias == 0;
  if (add_plain) return true;
  return add.act != Activation::kNone && p.act == Activation::kNone && p.post_scale == 1 &&
         p.post_bias == 0;
}

bool same_shape(const Dims& a, const Dims& b) {
  for (std::size_t d = 0; d < 4; ++d) {
    // Sizes that are not known to be 1 were required to be equal when the addition was read.
    if (a[d].is(1) != b[d].is(1)) return false;
  }
  return true;
}

}  // namespace

bool pass_residual(Graph& graph) {
  const Links links(graph);
  for (Node& add : graph.nodes) {
    if (add.kind != Kind::kBinary || add.binary != model::BinaryOp::kAdd || add.has_residual ||
        add.inputs[0] == add.inputs[1]) {
      continue;
    }
    const Dims& a = graph.tensors[static_cast<std::size_t>(add.inputs[0])].dims;
    const Dims& b = graph.tensors[static_cast<std::size_t>(add.inputs[1])].dims;
    if (!same_shape(a, b)) continue;
    int best = -1;
    std::size_t side = 0;
    for (std::size_t s = 0; s < 2; ++s) {
      const int p = links.private_producer(add.inputs[s]);
      if (p < 0 || !can_take(graph.nodes[static_cast<std::size_t>(p)], add)) continue;
      const int rank = preference(graph.nodes[static_cast<std::size_t>(p)]);
      const int best_rank = best < 0 ? 0 : preference(graph.nodes[static_cast<std::size_t>(best)]);
      // At equal rank the later one: what it waits for is ready anyway.
      if (rank > best_rank || (rank == best_rank && p > best)) {
        best = p;
        side = s;
      }
    }
    if (best < 0) continue;
    // The fused node stands where the addition stood: only there are both inputs ready.
    Node& p = graph.nodes[static_cast<std::size_t>(best)];
    Node fused = std::move(p);
    p = Node{};
    p.dead = true;
    p.output = fused.output;
    fused.inputs.push_back(add.inputs[1 - side]);
    fused.has_residual = true;
    if (add.act != Activation::kNone) {
      fused.residual_before = true;
      fused.act = add.act;
      fused.act_a = add.act_a;
      fused.act_b = add.act_b;
      fused.post_scale = add.post_scale;
      fused.post_bias = add.post_bias;
    }
    fused.output = add.output;
    fused.name = add.name;
    add = std::move(fused);
    return true;
  }
  return false;
}

}  // namespace spirkiln::packer
