#version 450
// SPDX-License-Identifier: Apache-2.0
// A copy whose reads are `stride` elements apart and begin `offset` elements behind the start: 1 and 0
// are a plain copy, 1 and 3 a misaligned one. SCATTERED reads without any order.

layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer in_blob { sfp in_data[]; };
layout(binding = 1) writeonly buffer out_blob { sfp out_data[]; };
layout(push_constant) uniform parameter { uint count; uint stride; uint offset; } p;

void main() {
  // Few groups do: what it takes to start them is no part of what is shown.
  for (uint i = gl_GlobalInvocationID.x; i < p.count; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
#if SCATTERED
    // A bijection where count is a power of two.
    uint from = (i * 2654435761u) & (p.count - 1);
#else
    uint from = i * p.stride + p.offset;
#endif
    buffer_cp1(out_data, i, in_data, from);
  }
}
