#version 450
// SPDX-License-Identifier: Apache-2.0
// Sums over pieces of a picture: first phase of the global mean. One invocation for each piece and
// vector of channels, so that neighbours read neighbouring addresses.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
layout(binding = 1) writeonly buffer sum_blob { vec4 sum_data[]; };

layout(constant_id = 0) const uint hw = 0;
layout(constant_id = 1) const uint c4 = 0;

layout(push_constant) uniform parameter {
  uint hw;
  uint c4;
  uint n;
  uint piece;   // pixels of one
  uint pieces;  // of a picture
} p;

void main() {
  uint id = grid_linear();
  uint rest = id / psc(c4);
  uint c = id - rest * psc(c4);
  if (rest >= p.n * p.pieces) return;
  uint picture = rest / p.pieces;
  uint first = (rest - picture * p.pieces) * p.piece;
  uint last = min(first + p.piece, psc(hw));
  vec4 sum = vec4(0.0);
  for (uint i = first; i < last; i++) {
    sum += vec4(tensor_ld4(x_data, (picture * psc(hw) + i) * psc(c4) + c));
  }
  sum_data[id] = sum;
}
