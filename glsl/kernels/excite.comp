#version 450
// SPDX-License-Identifier: Apache-2.0
// Second half of squeeze-and-excite: a workgroup adds up what squeeze has left of the first layer, makes the gate of
// X vectors of channels, and multiplies its pixels by it. Only the weights of its own channels are read.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "epilogue.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
TENSOR_IN(1, residual_data);
layout(binding = 2) readonly buffer part_blob { vec4 part_data[]; };  // [picture][part][mid4]
layout(binding = 3) readonly buffer scale1_blob { vec4 scale1_data[]; };
layout(binding = 4) readonly buffer bias1_blob { vec4 bias1_data[]; };
layout(binding = 5) readonly buffer weight_blob { sfpvec4 weight_data[]; };
layout(binding = 6) readonly buffer scale2_blob { vec4 scale2_data[]; };
layout(binding = 7) readonly buffer bias2_blob { vec4 bias2_data[]; };
TENSOR_OUT(8, out_data);

layout(constant_id = 2) const uint mid4 = 0;
layout(constant_id = 3) const uint out4 = 0;

layout(push_constant) uniform parameter {
  Epilogue e;       // of the product
  Epilogue middle;  // made of lines only, and so is the next
  Epilogue gate;
  uint mid4;
  uint out4;
  uint pixels;
  uint parts;
  float factor;  // 1 / pixels
} p;

const uint X = gl_WorkGroupSize.x;
const uint Y = gl_WorkGroupSize.y;
const uint THREADS = X * Y;
const uint MAX_VECTORS = 256;  // of the middle

#include "share_sum.glsl"
shared vec4 mid_local[MAX_VECTORS];
shared vec4 gate_local[X];

void main() {
  uint l = gl_LocalInvocationID.y * X + gl_LocalInvocationID.x;
  uint picture = gl_WorkGroupID.z;

  uint base = picture * p.parts * psc(mid4);
  for (uint m0 = 0; m0 < psc(mid4); m0 += X * Y) {
    uint width = min(psc(mid4) - m0, X * Y);
    uint shares = min(X * Y / width, p.parts);
    uint share = l / width;
    uint m = m0 + l - share * width;
    vec4 sum = vec4(0.0);
    for (uint i = share; i < p.parts && share < shares; i += shares) sum += part_data[base + i * psc(mid4) + m];
    sum = shared_sum(sum, l, width, share, shares);
    if (share == 0) {
      afpvec4 v = afpvec4(sum * p.factor * scale1_data[m] + bias1_data[m]);
      mid_local[m] = vec4(activate_lines(v, p.middle));
    }
  }
  barrier();

  uint c = gl_WorkGroupID.x * X + gl_LocalInvocationID.x;
  uint o = min(c, psc(out4) - 1);
  vec4 sum = vec4(0.0);
  for (uint i = gl_LocalInvocationID.y; i < psc(mid4); i += Y) {
    vec4 a = mid_local[i];
    uint b = i * 4 * psc(out4) + o;
    sum += times_rows(a, weight_data, b, psc(out4));
  }
  sum = shared_sum(sum, l, X, gl_LocalInvocationID.y, Y);
  if (gl_LocalInvocationID.y == 0) {
    afpvec4 v = activate_lines(afpvec4(sum * scale2_data[o] + bias2_data[o]), p.gate);
    gate_local[l] = vec4(v * afp(p.gate.post_scale) + afp(p.gate.post_bias));
  }
  barrier();
  if (c >= psc(out4)) return;

  afpvec4 gate = afpvec4(gate_local[gl_LocalInvocationID.x]);
  for (uint i = gl_WorkGroupID.y * Y + gl_LocalInvocationID.y; i < p.pixels; i += gl_NumWorkGroups.y * Y) {
    uint j = (picture * p.pixels + i) * psc(out4) + c;
    tensor_st4(out_data, j, epilogue(tensor_ld4(x_data, j) * gate, load_residual(residual_data, j), p.e));
  }
}
