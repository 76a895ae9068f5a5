// SPDX-License-Identifier: Apache-2.0
#include "passes.hpp"

#include "pack_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spirkiln::packer {

Links::Links(const Graph& graph)
    : producer(graph.tensors.size(), -1),
      consumers(graph.tensors.size()),
      is_output(graph.tensors.size(), false) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& n = graph.nodes[i];
    if (n.dead) continue;
    producer[static_cast<std::size_t>(n.output)] = static_cast<int>(i);
    for (const int t : n.inputs)
      consumers[static_cast<std::size_t>(t)].push_back(static_cast<int>(i));
  }
  for (const int t : graph.outputs) is_output[static_cast<std::size_t>(t)] = true;
}

int Links::private_producer(int tensor) const {
  const auto t = static_cast<std::size_t>(tensor);
  return consumers[t].size() == 1 && !is_output[t] ? producer[t] : -1;
}

void sweep(Graph& graph) {
  std::vector<bool> read(graph.tensors.size(), false);
  for (const int t : graph.outputs) read[static_cast<std::size_t>(t)] = true;
  for (auto it = graph.nodes.rbegin(); it != graph.nodes.rend(); ++it) {
    if (it->dead || !read[static_cast<std::size_t>(it->output)]) {
      it->dead = true;
      continue;
    }
    for (const int t : it->inputs) read[static_cast<std::size_t>(t)] = true;
  }
  std::erase_if(graph.nodes, [](const Node& n) { return n.dead; });
}

void replace_tensor(Graph& graph, int from, int to) {
  for (Node& n : graph.nodes) std::replace(n.inputs.begin(), n.inputs.end(), from, to);
  std::replace(graph.outputs.begin(), graph.outputs.end(), from, to);
}

bool is_affine(const Node& n) { return n.kind == Kind::kAffine && n.plain_epilogue(); }

bool is_scalar_affine(const Node& n) {
  return is_affine(n) && n.scale.size() == 1 && n.bias.size() == 1;
}

bool is_pointwise(const Node& n) {
  const ConvParams& p = n.conv;
  return n.kind == Kind::kConv && p.kernel_h == 1 && p.kernel_w == 1 && p.stride_h == 1 &&
         p.stride_w == 1 && p.pad_top == 0 && p.pad_left == 0 && p.pad_bottom == 0 &&
         p.pad_right == 0;
}

bool takes_epilogue(const Node& n) {
  switch (n.kind) {
    case Kind::kConv:
    case Kind::kDepthwise:
    case Kind::kDeconv:
    case Kind::kSqueezeExcite:
    case Kind::kBinary:
    case Kind::kAffine:
    case Kind::kResize:
      return true;
    default:
      return false;
  }
}

void scale_channels(std::vector<double>& scale, std::vector<double>& bias,
                    const std::vector<double>& by, const std::vector<double>& plus) {
  const std::size_t n = std::max({scale.size(), bias.size(), by.size(), plus.size()});
  const auto widen = [n](const std::vector<double>& v) {
    return v.size() == n ? v : std::vector<double>(n, v[0]);
  };
  scale = widen(scale);
  bias = widen(bias);
  const auto s = widen(by), b = widen(plus);
  for (std::size_t i = 0; i < n; ++i) {
    scale[i] *= s[i];
    bias[i] = bias[i] * s[i] + b[i];
  }
}

void fuse(Graph& graph) {
  sweep(graph);
  const auto repeat = [&](bool (*pass)(Graph&)) {
    while (pass(graph)) sweep(graph);
  };
  repeat(pass_affine_chain);
  repeat(pass_activation);
  repeat(pass_layer_norm);
  repeat(pass_affine_chain);
  repeat(pass_epilogue);
  repeat(pass_squeeze_excite);
  repeat(pass_gate);
  // An addition that took its activation may itself go into the node before it.
  repeat(pass_residual);
  repeat(pass_epilogue);
  repeat(pass_attention_heads);
  for (const Node& n : graph.nodes) {
    const bool leftover = n.kind == Kind::kErf || n.kind == Kind::kSqrt ||
                          n.kind == Kind::kSquare || n.kind == Kind::kMeanC;
    if (!leftover) continue;
    fail_unsupported(fmt::format(
        "node '{}' ({}): this operator is supported only as part of {}, which its neighbours do "
        "not form",
        n.name, n.op_type,
        n.kind == Kind::kErf ? "a GELU (x * 0.5 * (1 + erf(x / sqrt 2)))"
                             : "a layer normalisation over the channels"));
  }
}

}  // namespace spirkiln::packer
