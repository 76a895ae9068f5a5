#version 450
// SPDX-License-Identifier: Apache-2.0
// c = a * b by tiles of 16 x 16 in workgroup memory: each element is read once a tile, not once an
// invocation. m, n and k are multiples of 16.

layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) readonly buffer a_blob { sfp a_data[]; };
layout(binding = 1) readonly buffer b_blob { sfp b_data[]; };
layout(binding = 2) writeonly buffer c_blob { sfp c_data[]; };
layout(push_constant) uniform parameter { uint m; uint n; uint k; } p;

shared float a_tile[16][16];
shared float b_tile[16][16];

void main() {
  uint lx = gl_LocalInvocationID.x;
  uint ly = gl_LocalInvocationID.y;
  uint column = gl_GlobalInvocationID.x;
  uint row = gl_GlobalInvocationID.y;
  float sum = 0.0;
  for (uint k0 = 0; k0 < p.k; k0 += 16) {
    a_tile[ly][lx] = float(buffer_ld1(a_data, row * p.k + k0 + lx));
    b_tile[ly][lx] = float(buffer_ld1(b_data, (k0 + ly) * p.n + column));
    barrier();
    for (uint i = 0; i < 16; ++i) sum += a_tile[ly][i] * b_tile[i][lx];
    barrier();
  }
  buffer_st1(c_data, row * p.n + column, afp(sum));
}
