#version 450
// SPDX-License-Identifier: Apache-2.0
// Second phase of the global mean: adds the pieces of mean_partial.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
#include "epilogue.glsl"

layout(binding = 0) readonly buffer sum_blob { vec4 sum_data[]; };
layout(binding = 1) readonly buffer residual_blob { sfpvec4 residual_data[]; };
layout(binding = 2) writeonly buffer out_blob { sfpvec4 out_data[]; };

layout(constant_id = 2) const uint c4 = 0;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint c4;
  uint n;
  uint pieces;
  float factor;  // 1 / pixels
} p;

void main() {
  uint id = grid_linear();
  uint picture = id / psc(c4);
  uint c = id - picture * psc(c4);
  if (picture >= p.n) return;
  vec4 sum = vec4(0.0);
  for (uint i = 0; i < p.pieces; i++) sum += sum_data[(picture * p.pieces + i) * psc(c4) + c];
  afpvec4 r = load_residual(residual_data, id);
  buffer_st4(out_data, id, epilogue(afpvec4(sum * p.factor), r, p.e));
}
