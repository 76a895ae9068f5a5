#version 450
// SPDX-License-Identifier: Apache-2.0
// The best channel of each pixel and its value, as two floats: a workgroup for each pixel. Of equal
// ones the first. With `shares` the values are logits, and what is given is the channel's share of
// the softmax. A value that is no number makes the pixel's value none, too.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "row_reduce.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
layout(binding = 1) writeonly buffer out_blob { vec2 out_data[]; };

layout(constant_id = 0) const uint shares = 0;
layout(constant_id = 1) const uint channels = 0;

layout(push_constant) uniform parameter {
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
  uint best = 0;
  float sum = 0.0;
  for (uint c = gl_LocalInvocationID.x; c < c4; c += gl_WorkGroupSize.x) {
    vec4 v = vec4(tensor_ld4(x_data, base + c));
    float before = top;
    float part = 0.0;
    for (uint lane = 0; lane < 4; lane++) {
      if (c * 4 + lane >= psc(channels)) break;
      if (v[lane] > top) {
        top = v[lane];
        best = c * 4 + lane;
      }
    }
    vec4 real = lane_mask(c, psc(channels));
    vec4 terms = shares != 0 ? exp(v - top) : v;
    part = dot(mix(vec4(0.0), terms, notEqual(real, vec4(0.0))), vec4(1.0));
    sum = (shares != 0 ? sum * exp(before - top) : sum) + part;
  }
  float row_top = row_max(top);
  float row_terms = row_sum(shares != 0 ? sum * exp(top - row_top) : sum);
  // The first of those that have the maximum; an index is exact as a float.
  float first = -row_max(top == row_top ? -float(best) : LOWEST);
  if (gl_LocalInvocationID.x != 0) return;
  float value = shares != 0 ? 1.0 / row_terms : row_top;
  if (isnan(row_terms) || isinf(row_terms)) value = row_terms;
  out_data[row] = vec2(first, value);
}
