#version 450
// SPDX-License-Identifier: Apache-2.0
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { sfp a[]; };
layout(binding = 1) writeonly buffer B { sfp b[]; };
shared lfpvec4 part[64];

void main() {
  uint i = gl_LocalInvocationID.x;
  acp s = acp(subgroupAdd(float(buffer_ld1(a, i))));
  part[i] = afp2lfpvec4(afpvec4(s));
  barrier();
  buffer_st1(b, i, lfp2afpvec4(part[i ^ 1u]).x + afp(s));
}
