#version 450
// SPDX-License-Identifier: Apache-2.0
// All x coordinates of an array of structures: of what is moved, a third is asked for.

layout(local_size_x = 256) in;
struct Vertex { float x; float y; float z; };
layout(binding = 0) readonly buffer in_blob { Vertex vertices[]; };
layout(binding = 1) writeonly buffer out_blob { float moved[]; };
layout(push_constant) uniform parameter { uint count; } p;

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < p.count; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
    moved[i] = vertices[i].x + 1.0;
  }
}
