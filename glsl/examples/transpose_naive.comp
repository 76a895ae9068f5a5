#version 450
// SPDX-License-Identifier: Apache-2.0
// A matrix turned, without care: neighbours write a row and read a column. With ROWS they read a row
// and write a column, which is no better.

layout(local_size_x = 32, local_size_y = 8) in;
layout(binding = 0) readonly buffer in_blob { sfp in_data[]; };
layout(binding = 1) writeonly buffer out_blob { sfp out_data[]; };
layout(push_constant) uniform parameter { uint width; uint height; } p;  // of what is written

void main() {
  uint x = gl_GlobalInvocationID.x;
  uint y = gl_GlobalInvocationID.y;
#if ROWS
  if (x >= p.height || y >= p.width) return;
  buffer_cp1(out_data, y + x * p.width, in_data, x + y * p.height);
#else
  if (x >= p.width || y >= p.height) return;
  buffer_cp1(out_data, x + y * p.width, in_data, y + x * p.height);
#endif
}
