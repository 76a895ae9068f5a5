#version 450
// SPDX-License-Identifier: Apache-2.0
// One vector of 16 bytes an invocation from one buffer to another.
layout(local_size_x_id = 233) in;

layout(binding = 0) readonly buffer in_blob { sfpvec4 in_data[]; };
layout(binding = 1) writeonly buffer out_blob { sfpvec4 out_data[]; };

layout(push_constant) uniform parameter { uint count; } p;

void main() {
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  uint i = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (i < p.count) buffer_cp4(out_data, i, in_data, i);
}
