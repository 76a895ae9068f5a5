#version 450
// SPDX-License-Identifier: Apache-2.0
// A tensor to the caller's tight floats. One invocation a stored vector, so that neighbours read
// and write neighbouring addresses.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
layout(binding = 1) writeonly buffer out_blob { float out_data[]; };

layout(constant_id = 0) const uint count = 0;     // vectors
layout(constant_id = 1) const uint channels = 0;  // real ones

layout(push_constant) uniform parameter {
  uint count;
  uint channels;
} p;

void main() {
  uint i = grid_linear();
  if (i >= psc(count)) return;
  uint c4 = (psc(channels) + 3) / 4;
  uint pixel = i / c4;
  uint c = (i - pixel * c4) * 4;
  uint o = pixel * psc(channels) + c;
  vec4 v = vec4(tensor_ld4(x_data, i));
  uint real = psc(channels) - c;
  out_data[o] = v.x;
  if (real > 1) out_data[o + 1] = v.y;
  if (real > 2) out_data[o + 2] = v.z;
  if (real > 3) out_data[o + 3] = v.w;
}
