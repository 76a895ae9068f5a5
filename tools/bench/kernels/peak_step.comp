#version 450
// SPDX-License-Identifier: Apache-2.0
// As little as a dispatch can do: one workgroup adds 1 to a vector. In a row, each behind a barrier,
// it costs what every dispatch costs that waits for the one before.
layout(local_size_x_id = 233) in;

layout(binding = 0) buffer data_blob { sfpvec4 data[]; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  buffer_st4(data, i, buffer_ld4(data, i) + afpvec4(1.0));
}
