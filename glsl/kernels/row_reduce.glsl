// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over a workgroup along x, for kernels with one workgroup a row. The number of
// invocations is a power of two of at most 256.
shared float row_reduce_data[256];

float row_sum(float v) {
  uint l = gl_LocalInvocationID.x;
  barrier();
  row_reduce_data[l] = v;
  barrier();
  for (uint s = gl_WorkGroupSize.x / 2; s > 0; s /= 2) {
    if (l < s) row_reduce_data[l] += row_reduce_data[l + s];
    barrier();
  }
  return row_reduce_data[0];
}

float row_max(float v) {
  uint l = gl_LocalInvocationID.x;
  barrier();
  row_reduce_data[l] = v;
  barrier();
  for (uint s = gl_WorkGroupSize.x / 2; s > 0; s /= 2) {
    if (l < s) row_reduce_data[l] = max(row_reduce_data[l], row_reduce_data[l + s]);
    barrier();
  }
  return row_reduce_data[0];
}

// 1 in the lanes that are real channels of vector c, 0 in padding.
vec4 lane_mask(uint c, uint channels) {
  return vec4(lessThan(uvec4(c * 4) + uvec4(0, 1, 2, 3), uvec4(channels)));
}
