#version 450
// SPDX-License-Identifier: Apache-2.0
// A matrix turned through tiles in workgroup memory: rows are read, rows are written, and the turn is
// in between. Without PADDING the 32 invocations that read a column of the tile meet in one bank.

layout(local_size_x = 32, local_size_y = 8) in;
layout(binding = 0) readonly buffer in_blob { sfp in_data[]; };
layout(binding = 1) writeonly buffer out_blob { sfp out_data[]; };
layout(push_constant) uniform parameter { uint width; uint height; } p;  // of what is read

shared float tile[32][32 + PADDING];

void main() {
  uvec2 corner = gl_WorkGroupID.xy * 32;
  uint lx = gl_LocalInvocationID.x;
  for (uint ly = gl_LocalInvocationID.y; ly < 32; ly += 8) {
    uvec2 at = corner + uvec2(lx, ly);
    if (at.x < p.width && at.y < p.height) {
      tile[ly][lx] = float(buffer_ld1(in_data, at.x + at.y * p.width));
    }
  }
  barrier();
  for (uint ly = gl_LocalInvocationID.y; ly < 32; ly += 8) {
    uvec2 at = corner.yx + uvec2(lx, ly);  // the tile's place is turned, too
    if (at.x < p.height && at.y < p.width) {
      buffer_st1(out_data, at.x + at.y * p.height, afp(tile[lx][ly]));
    }
  }
}
