#version 450
// SPDX-License-Identifier: Apache-2.0
// Softmax over the channels of each pixel: a workgroup for each pixel. One pass finds the maximum
// and the sum together, the second writes. Padding lanes are written 0.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "row_reduce.glsl"
#include "epilogue.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
TENSOR_IN(1, residual_data);
TENSOR_OUT(2, out_data);

layout(constant_id = 2) const uint channels = 0;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint channels;
  uint rows;
} p;

const float LOWEST = -3.0e38;

void main() {
  uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (row >= p.rows) return;
  uint c4 = (psc(channels) + 3) / 4;
  uint base = row * c4;

  float top = LOWEST;
  float sum = 0.0;
  for (uint c = gl_LocalInvocationID.x; c < c4; c += gl_WorkGroupSize.x) {
    vec4 mask = lane_mask(c, psc(channels));
    vec4 v = mix(vec4(LOWEST), vec4(tensor_ld4(x_data, base + c)), notEqual(mask, vec4(0.0)));
    float m = max(top, max(max(v.x, v.y), max(v.z, v.w)));
    sum = sum * exp(top - m) + dot(exp(v - m), mask);
    top = m;
  }
  float row_top = row_max(top);
  float factor = 1.0 / row_sum(sum * exp(top - row_top));

  for (uint c = gl_LocalInvocationID.x; c < c4; c += gl_WorkGroupSize.x) {
    vec4 v = exp(vec4(tensor_ld4(x_data, base + c)) - row_top) * factor;
    afpvec4 r = load_residual(residual_data, base + c);
    afpvec4 y = epilogue(afpvec4(v), r, p.e);
    vec4 mask = lane_mask(c, psc(channels));
    y = mix(afpvec4(0.0), y, notEqual(mask, vec4(0.0)));
    tensor_st4(out_data, base + c, y);
  }
}
