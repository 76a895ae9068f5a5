// SPDX-License-Identifier: Apache-2.0
// Drops multiplications by one and additions of zero, and makes one node of two affine ones.
#include "passes.hpp"

namespace spirkiln::packer {
namespace {

bool is_identity(const Node& n) {
  if (!is_affine(n)) return false;
  for (const double s : n.scale) {
    if (s != 1) return false;
  }
  for (const double b : n.bias) {
    if (b != 0) return false;
  }
  return true;
}

}  // namespace

bool pass_affine_chain(Graph& graph) {
  bool changed = false;
  for (Node& n : graph.nodes) {
    if (n.dead || !is_identity(n)) continue;
    n.dead = true;
    replace_tensor(graph, n.output, n.inputs[0]);
    changed = true;
  }
  if (changed) return true;
  const Links links(graph);
  for (Node& n : graph.nodes) {
    if (n.kind != Kind::kAffine || n.has_residual) continue;
    const int p = links.private_producer(n.inputs[0]);
    if (p < 0) continue;
    Node& before = graph.nodes[static_cast<std::size_t>(p)];
    if (!is_affine(before) || before.dead) continue;
    scale_channels(before.scale, before.bias, n.scale, n.bias);
    n.scale = before.scale;
    n.bias = before.bias;
    n.inputs[0] = before.inputs[0];
    before.dead = true;
    changed = true;
  }
  return changed;
}

}  // namespace spirkiln::packer
