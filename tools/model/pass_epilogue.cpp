// SPDX-License-Identifier: Apache-2.0
// Affine nodes and activations become the epilogue of the node before: per-channel factors its
// scale and bias (in double here, fp32 in the pack, never the fp16 weights), one factor behind an
// activation its post_scale and post_bias.
#include "passes.hpp"

namespace spirkiln::packer {
namespace {

using model::Activation;

bool has_channel_scale(const Node& n) {
  return n.kind == Kind::kConv || n.kind == Kind::kDepthwise || n.kind == Kind::kDeconv ||
         n.kind == Kind::kAffine || n.kind == Kind::kSqueezeExcite;
}

bool is_one(const Node& affine) {
  for (const double s : affine.scale) {
    if (s != 1) return false;
  }
  for (const double b : affine.bias) {
    if (b != 0) return false;
  }
  return true;
}

bool absorb(Node& p, const Node& b) {
  const bool scalar = b.scale.size() == 1 && b.bias.size() == 1;
  const bool has_act = b.act != Activation::kNone;
  const bool one = is_one(b);
  if (has_act) {
    // The activation needs everything behind p's sum to be free.
    if (p.act != Activation::kNone || p.post_scale != 1 || p.post_bias != 0) return false;
    if (!one && (p.has_residual || !has_channel_scale(p))) return false;
    if (!one) {
      const bool se = p.kind == Kind::kSqueezeExcite;
      scale_channels(se ? p.scale2 : p.scale, se ? p.bias2 : p.bias, b.scale, b.bias);
    }
    p.residual_before = p.has_residual;
    p.act = b.act;
    p.act_a = b.act_a;
    p.act_b = b.act_b;
    p.post_scale = b.post_scale;
    p.post_bias = b.post_bias;
    return true;
  }
  if (p.plain_epilogue() && has_channel_scale(p)) {
    const bool se = p.kind == Kind::kSqueezeExcite;
    scale_channels(se ? p.scale2 : p.scale, se ? p.bias2 : p.bias, b.scale, b.bias);
  } else if (scalar && (!p.has_residual || p.residual_before)) {
    p.post_scale *= b.scale[0];
    p.post_bias = p.post_bias * b.scale[0] + b.bias[0];
  } else {
    return false;
  }
  // Whatever b itself carried behind its product.
  p.post_bias = p.post_bias * b.post_scale + b.post_bias;
  p.post_scale *= b.post_scale;
  return true;
}

}  // namespace

bool pass_epilogue(Graph& graph) {
  const Links links(graph);
  for (Node& n : graph.nodes) {
    if (n.kind != Kind::kAffine || n.has_residual) continue;
    const int i = links.private_producer(n.inputs[0]);
    if (i < 0) continue;
    Node& p = graph.nodes[static_cast<std::size_t>(i)];
    if (!takes_epilogue(p) || !absorb(p, n)) continue;
    p.output = n.output;
    p.name = n.name;
    n.dead = true;
    return true;
  }
  return false;
}

}  // namespace spirkiln::packer
