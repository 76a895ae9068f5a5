// SPDX-License-Identifier: Apache-2.0
// The fusion passes, one a file. Each returns true where it changed something, and leaves a graph
// that computes the same.
#pragma once

#include "ir.hpp"

#include <vector>

namespace spirkiln::packer {

// Who makes and who reads each tensor; valid until the graph changes.
struct Links {
  explicit Links(const Graph& graph);
  std::vector<int> producer;                // node index, -1 for the input
  std::vector<std::vector<int>> consumers;  // node indices, once for every use
  std::vector<bool> is_output;

  // The node that makes `tensor`, if nobody but one node reads it and it is no output.
  int private_producer(int tensor) const;
};

// Drops nodes that nobody reads.
void sweep(Graph& graph);
void replace_tensor(Graph& graph, int from, int to);

bool is_affine(const Node& n);         // kAffine with nothing behind it
bool is_scalar_affine(const Node& n);  // and one number for all channels
bool is_pointwise(const Node& n);     // a 1x1 convolution that reads each pixel once
bool takes_epilogue(const Node& n);
// Multiplies what comes out of the channel scale: v = (...) * scale + bias.
void scale_channels(std::vector<double>& scale, std::vector<double>& bias,
                    const std::vector<double>& by, const std::vector<double>& plus);

bool pass_affine_chain(Graph& graph);     // x * 1 + 0; (x * a + b) * c + d
bool pass_activation(Graph& graph);       // hard swish, swish and GELU, spelled out
bool pass_layer_norm(Graph& graph);       // layer normalisation, spelled out
bool pass_epilogue(Graph& graph);         // affine and activation into the node before
bool pass_squeeze_excite(Graph& graph);   // two 1x1 convolutions of a 1x1 tensor
bool pass_gate(Graph& graph);             // x + x * g -> x * (1 + g)
bool pass_residual(Graph& graph);         // an addition into one of the nodes before
bool pass_attention_heads(Graph& graph);  // heads of whole vectors

// All of them, to the end. Throws PackError naming the first node that no pack can hold.
void fuse(Graph& graph);

}  // namespace spirkiln::packer
