#version 450
// SPDX-License-Identifier: Apache-2.0
// Layer normalisation over the channels of each pixel: a workgroup for each pixel, mean first and
// then the squared distances from it, both in single precision.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "row_reduce.glsl"
#include "epilogue.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
TENSOR_IN(1, residual_data);
layout(binding = 2) readonly buffer gamma_blob { vec4 gamma_data[]; };
layout(binding = 3) readonly buffer beta_blob { vec4 beta_data[]; };
TENSOR_OUT(4, out_data);

layout(constant_id = 2) const uint channels = 0;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint channels;
  uint rows;
  float epsilon;
} p;

void main() {
  uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (row >= p.rows) return;
  uint c4 = (psc(channels) + 3) / 4;
  uint base = row * c4;

  float part = 0.0;
  for (uint c = gl_LocalInvocationID.x; c < c4; c += gl_WorkGroupSize.x) {
    part += dot(vec4(tensor_ld4(x_data, base + c)), lane_mask(c, psc(channels)));
  }
  float mean = row_sum(part) / float(psc(channels));

  part = 0.0;
  for (uint c = gl_LocalInvocationID.x; c < c4; c += gl_WorkGroupSize.x) {
    vec4 d = (vec4(tensor_ld4(x_data, base + c)) - mean) * lane_mask(c, psc(channels));
    part += dot(d, d);
  }
  float factor = inversesqrt(row_sum(part) / float(psc(channels)) + p.epsilon);

  for (uint c = gl_LocalInvocationID.x; c < c4; c += gl_WorkGroupSize.x) {
    vec4 v = (vec4(tensor_ld4(x_data, base + c)) - mean) * factor;
    afpvec4 y = afpvec4(v * gamma_data[c] + beta_data[c]);
    afpvec4 r = load_residual(residual_data, base + c);
    tensor_st4(out_data, base + c, epilogue(y, r, p.e));
  }
}
