// SPDX-License-Identifier: Apache-2.0
// Heads of an attention become whole vectors: 15 channels are 16, of which the last is 0 in
// queries, keys and values. The convolution before makes the zeros and the one behind ignores them,
// so nothing changes but that no head begins within a vector (or within a matrix of 16 columns).
#include "passes.hpp"

#include <algorithm>

namespace spirkiln::packer {
namespace {

// What of a head is at place `padded` of the padded channels; -1 for a zero.
int real_channel(int padded, int dim, int wide) {
  return padded % wide < dim ? padded / wide * dim + padded % wide : -1;
}

std::vector<double> spread(const std::vector<double>& values, int dim, int wide, int channels) {
  std::vector<double> out(static_cast<std::size_t>(channels), 0);
  for (int c = 0; c < channels; ++c) {
    const int real = real_channel(c, dim, wide);
    if (real < 0) continue;
    out[static_cast<std::size_t>(c)] =
        values[values.size() == 1 ? 0 : static_cast<std::size_t>(real)];
  }
  return out;
}

void widen_output(Node& conv, int dim, int wide, int channels) {
  const auto in = static_cast<std::size_t>(conv.channels_in);
  std::vector<float> values(static_cast<std::size_t>(channels) * in, 0);
  for (int c = 0; c < channels; ++c) {
    const int real = real_channel(c, dim, wide);
    if (real < 0) continue;
    std::copy_n(conv.weights.values.begin() +
                    static_cast<std::ptrdiff_t>(static_cast<std::size_t>(real) * in),
                in, values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(c) * in));
  }
  conv.weights.values = std::move(values);
  conv.scale = spread(conv.scale, dim, wide, channels);
  conv.bias = spread(conv.bias, dim, wide, channels);
  conv.channels_out = channels;
}

void widen_input(Node& conv, int dim, int wide, int channels) {
  const auto in = static_cast<std::size_t>(conv.channels_in);
  std::vector<float> values(
      static_cast<std::size_t>(conv.channels_out) * static_cast<std::size_t>(channels), 0);
  for (std::size_t o = 0; o < static_cast<std::size_t>(conv.channels_out); ++o) {
    for (int c = 0; c < channels; ++c) {
      const int real = real_channel(c, dim, wide);
      if (real < 0) continue;
      values[o * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c)] =
          conv.weights.values[o * in + static_cast<std::size_t>(real)];
    }
  }
  conv.weights.values = std::move(values);
  conv.channels_in = channels;
}

}  // namespace

bool pass_attention_heads(Graph& graph) {
  const Links links(graph);
  for (Node& n : graph.nodes) {
    if (n.kind != Kind::kAttention || n.head_dim % 4 == 0 || !n.plain_epilogue()) continue;
    const int before = links.private_producer(n.inputs[0]);
    const auto out = static_cast<std::size_t>(n.output);
    if (before < 0 || links.consumers[out].size() != 1 || links.is_output[out]) continue;
    Node& qkv = graph.nodes[static_cast<std::size_t>(before)];
    Node& behind = graph.nodes[static_cast<std::size_t>(links.consumers[out][0])];
    // A residual would need zeros, too, and an activation may make something of them.
    if (!is_pointwise(qkv) || !qkv.plain_epilogue()) continue;
    if (!is_pointwise(behind) || behind.inputs[0] != n.output) continue;
    const int wide = (n.head_dim + 3) / 4 * 4;
    const int channels = n.heads * wide;
    widen_output(qkv, n.head_dim, wide, 3 * channels);
    widen_input(behind, n.head_dim, wide, channels);
    graph.tensors[static_cast<std::size_t>(qkv.output)].dims[kC] = 3 * channels;
    graph.tensors[out].dims[kC] = channels;
    n.head_dim = wide;
    return true;
  }
  return false;
}

}  // namespace spirkiln::packer
