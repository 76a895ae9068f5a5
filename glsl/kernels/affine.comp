#version 450
// SPDX-License-Identifier: Apache-2.0
// x * scale + bias for each channel.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
#include "epilogue.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
TENSOR_IN(1, residual_data);
layout(binding = 2) readonly buffer scale_blob { vec4 scale_data[]; };
layout(binding = 3) readonly buffer bias_blob { vec4 bias_data[]; };
TENSOR_OUT(4, out_data);

layout(constant_id = 2) const uint count = 0;
layout(constant_id = 3) const uint c4 = 0;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint count;
  uint c4;
} p;

void main() {
  uint i = grid_linear();
  if (i >= psc(count)) return;
  uint c = i % psc(c4);
  vec4 v = vec4(tensor_ld4(x_data, i)) * scale_data[c] + bias_data[c];
  afpvec4 r = load_residual(residual_data, i);
  tensor_st4(out_data, i, epilogue(afpvec4(v), r, p.e));
}
