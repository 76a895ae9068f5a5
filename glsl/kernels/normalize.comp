#version 450
// SPDX-License-Identifier: Apache-2.0
// Picture bytes (B, G, R, validity in one uint a pixel) to the input tensor.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"

layout(binding = 0) readonly buffer pixel_blob { uint pixels[]; };
layout(binding = 1) writeonly buffer out_blob { sfpvec4 out_data[]; };

layout(constant_id = 0) const uint count = 0;

layout(push_constant) uniform parameter {
  vec4 scale;
  vec4 shift;
  uint count;
} p;

void main() {
  uint i = grid_linear();
  if (i >= psc(count)) return;
  uint b = pixels[i];
  vec4 v = vec4(b & 255u, (b >> 8) & 255u, (b >> 16) & 255u, 0.0) * p.scale + p.shift;
  v = (b >> 24) != 0 ? v : vec4(0.0);
  buffer_st4(out_data, i, afpvec4(vec4(v.xyz, 0.0)));
}
