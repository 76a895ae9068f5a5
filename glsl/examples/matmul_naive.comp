#version 450
// SPDX-License-Identifier: Apache-2.0
// c = a * b, each invocation one element: every element of a and b is read as often as the other
// matrix has columns or rows.

layout(local_size_x = 32, local_size_y = 8) in;
layout(binding = 0) readonly buffer a_blob { sfp a_data[]; };
layout(binding = 1) readonly buffer b_blob { sfp b_data[]; };
layout(binding = 2) writeonly buffer c_blob { sfp c_data[]; };
layout(push_constant) uniform parameter { uint m; uint n; uint k; } p;

void main() {
  uint column = gl_GlobalInvocationID.x;
  uint row = gl_GlobalInvocationID.y;
  if (column >= p.n || row >= p.m) return;
  float sum = 0.0;
  for (uint i = 0; i < p.k; ++i) {
    sum += float(buffer_ld1(a_data, row * p.k + i)) * float(buffer_ld1(b_data, i * p.n + column));
  }
  buffer_st1(c_data, row * p.n + column, afp(sum));
}
