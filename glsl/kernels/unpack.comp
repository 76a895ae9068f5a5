#version 450
// SPDX-License-Identifier: Apache-2.0
// A tensor to the caller's tight floats. One invocation a float: neighbours write neighbouring
// floats, and four of them read one vector. One invocation a vector would write each of its floats in
// a request of its own, 16 bytes from its neighbour's (spirkiln access: a quarter of what is moved is
// needed).
// BYTES 1: to the caller's bytes (bytes_out.glsl), one invocation a word.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
#include "tensor.glsl"

#if BYTES
TENSOR_IN_BITS(0, x_data);
#define BYTES_OUT 1
#include "bytes_out.glsl"
#else
TENSOR_IN(0, x_data);
layout(binding = 1) writeonly buffer out_blob { float out_data[]; };
#endif

layout(constant_id = 0) const uint count = 0;     // values
layout(constant_id = 1) const uint channels = 0;  // real ones

layout(push_constant) uniform parameter {
  uint count;
  uint channels;
} p;

float value(uint i) {
  uint c4 = (psc(channels) + 3) / 4;
  uint pixel = i / psc(channels);
  uint c = i - pixel * psc(channels);
  return vec4(tensor_ld4(x_data, pixel * c4 + c / 4))[c % 4];
}

void main() {
#if BYTES
  if (gl_LocalInvocationID.x == 0) not_finite_local = 0;
  barrier();
  uint j = grid_linear();
  uint words = (psc(count) + 3) / 4;
  if (j < words) {
    uint word = 0;
    for (uint i = j * 4; i < min(j * 4 + 4, psc(count)); i++) word |= byte_of(value(i)) << (i % 4 * 8);
    out_data[j] = word;
  }
  barrier();
  if (gl_LocalInvocationID.x == 0) out_data[words + j / gl_WorkGroupSize.x] = not_finite_local;
#else
  uint i = grid_linear();
  if (i < psc(count)) out_data[i] = value(i);
#endif
}
