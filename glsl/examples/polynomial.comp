#version 450
// SPDX-License-Identifier: Apache-2.0
// The same eight coefficients for every invocation, from a buffer or, with UNIFORM, from a uniform
// block, whose values hardware broadcasts.

layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer in_blob { float in_data[]; };
layout(binding = 1) writeonly buffer out_blob { float out_data[]; };
#if UNIFORM
layout(binding = 2, std140) uniform table_blob { vec4 coefficients[2]; };
#else
layout(binding = 2, std430) readonly buffer table_blob { vec4 coefficients[2]; };
#endif
layout(push_constant) uniform parameter { uint count; } p;

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < p.count; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
    float x = in_data[i];
    float y = 0.0;
    for (uint k = 0; k < 8; ++k) y = y * x + coefficients[k / 4][k % 4];
    out_data[i] = y;
  }
}
