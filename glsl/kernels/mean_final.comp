#version 450
// SPDX-License-Identifier: Apache-2.0
// Second phase of the global mean: adds the pieces of mean_partial. A workgroup of X vectors of
// channels and Y shares of the pieces, so that neighbours read neighbouring addresses.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "epilogue.glsl"
#include "tensor.glsl"

layout(binding = 0) readonly buffer sum_blob { vec4 sum_data[]; };
TENSOR_IN(1, residual_data);
TENSOR_OUT(2, out_data);

layout(constant_id = 2) const uint c4 = 0;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint c4;
  uint pieces;
  float factor;  // 1 / pixels
} p;

const uint X = gl_WorkGroupSize.x;
const uint Y = gl_WorkGroupSize.y;

shared vec4 share_local[X * Y];

void main() {
  uint picture = gl_WorkGroupID.y;
  uint c = gl_GlobalInvocationID.x;
  uint l = gl_LocalInvocationID.y * X + gl_LocalInvocationID.x;
  vec4 sum = vec4(0.0);
  if (c < psc(c4)) {
    for (uint i = gl_LocalInvocationID.y; i < p.pieces; i += Y) {
      sum += sum_data[(picture * p.pieces + i) * psc(c4) + c];
    }
  }
  share_local[l] = sum;
  barrier();
  if (gl_LocalInvocationID.y != 0 || c >= psc(c4)) return;
  for (uint i = 1; i < Y; i++) sum += share_local[i * X + l];
  uint o = picture * psc(c4) + c;
  afpvec4 r = load_residual(residual_data, o);
  tensor_st4(out_data, o, epilogue(afpvec4(sum * p.factor), r, p.e));
}
