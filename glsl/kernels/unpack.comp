#version 450
// SPDX-License-Identifier: Apache-2.0
// A tensor to the caller's tight floats. One invocation a float: neighbours write neighbouring
// floats, and four of them read one vector. One invocation a vector would write each of its floats in
// a request of its own, 16 bytes from its neighbour's (spirkiln access: a quarter of what is moved is
// needed).

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
layout(binding = 1) writeonly buffer out_blob { float out_data[]; };

layout(constant_id = 0) const uint count = 0;     // values
layout(constant_id = 1) const uint channels = 0;  // real ones

layout(push_constant) uniform parameter {
  uint count;
  uint channels;
} p;

void main() {
  uint i = grid_linear();
  if (i >= psc(count)) return;
  uint c4 = (psc(channels) + 3) / 4;
  uint pixel = i / psc(channels);
  uint c = i - pixel * psc(channels);
  out_data[i] = vec4(tensor_ld4(x_data, pixel * c4 + c / 4))[c % 4];
}
