#version 450
// SPDX-License-Identifier: Apache-2.0
// All x coordinates of a structure of arrays: neighbours are neighbours.

layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer in_blob { float x_coordinates[]; };  // then y, then z
layout(binding = 1) writeonly buffer out_blob { float moved[]; };
layout(push_constant) uniform parameter { uint count; } p;

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < p.count; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
    moved[i] = x_coordinates[i] + 1.0;
  }
}
