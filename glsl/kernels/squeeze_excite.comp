#version 450
// SPDX-License-Identifier: Apache-2.0
// The gate of squeeze-and-excite: two fully connected layers on the mean of one picture, a
// workgroup for each picture. MAX_VECTORS bounds both the input and the middle.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "mac.glsl"
#include "epilogue.glsl"

layout(binding = 0) readonly buffer x_blob { sfpvec4 x_data[]; };
layout(binding = 1) readonly buffer residual_blob { sfpvec4 residual_data[]; };
layout(binding = 2) readonly buffer weight1_blob { sfpvec4 weight1_data[]; };
layout(binding = 3) readonly buffer scale1_blob { vec4 scale1_data[]; };
layout(binding = 4) readonly buffer bias1_blob { vec4 bias1_data[]; };
layout(binding = 5) readonly buffer weight2_blob { sfpvec4 weight2_data[]; };
layout(binding = 6) readonly buffer scale2_blob { vec4 scale2_data[]; };
layout(binding = 7) readonly buffer bias2_blob { vec4 bias2_data[]; };
layout(binding = 8) writeonly buffer out_blob { sfpvec4 out_data[]; };

layout(constant_id = 2) const uint in4 = 0;
layout(constant_id = 3) const uint mid4 = 0;
layout(constant_id = 4) const uint out4 = 0;

layout(push_constant) uniform parameter {
  Epilogue e;
  Epilogue middle;  // made of lines only
  uint in4;
  uint mid4;
  uint out4;
} p;

const uint MAX_VECTORS = 512;

shared lfpvec4 x_local[MAX_VECTORS];
shared lfpvec4 mid_local[MAX_VECTORS];

void main() {
  uint picture = gl_WorkGroupID.x;
  uint l = gl_LocalInvocationID.x;
  for (uint i = l; i < psc(in4); i += gl_WorkGroupSize.x) {
    x_local[i] = sfp2lfpvec4(x_data[picture * psc(in4) + i]);
  }
  barrier();
  for (uint o = l; o < psc(mid4); o += gl_WorkGroupSize.x) {
    acpvec4 acc = acpvec4(0.0);
    for (uint i = 0; i < psc(in4); i++) {
      afpvec4 a = lfp2afpvec4(x_local[i]);
      uint b = i * 4 * psc(mid4) + o;
      mac(acc, a.x, buffer_ld4(weight1_data, b));
      mac(acc, a.y, buffer_ld4(weight1_data, b + psc(mid4)));
      mac(acc, a.z, buffer_ld4(weight1_data, b + psc(mid4) * 2));
      mac(acc, a.w, buffer_ld4(weight1_data, b + psc(mid4) * 3));
    }
    afpvec4 v = afpvec4(vec4(acc) * scale1_data[o] + bias1_data[o]);
    mid_local[o] = afp2lfpvec4(activate_lines(v, p.middle));
  }
  barrier();
  for (uint o = l; o < psc(out4); o += gl_WorkGroupSize.x) {
    acpvec4 acc = acpvec4(0.0);
    for (uint i = 0; i < psc(mid4); i++) {
      afpvec4 a = lfp2afpvec4(mid_local[i]);
      uint b = i * 4 * psc(out4) + o;
      mac(acc, a.x, buffer_ld4(weight2_data, b));
      mac(acc, a.y, buffer_ld4(weight2_data, b + psc(out4)));
      mac(acc, a.z, buffer_ld4(weight2_data, b + psc(out4) * 2));
      mac(acc, a.w, buffer_ld4(weight2_data, b + psc(out4) * 3));
    }
    uint i = picture * psc(out4) + o;
    afpvec4 v = afpvec4(vec4(acc) * scale2_data[o] + bias2_data[o]);
    afpvec4 r = load_residual(residual_data, i);
    buffer_st4(out_data, i, epilogue(v, r, p.e));
  }
}
