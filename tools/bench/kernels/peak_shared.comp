#version 450
// SPDX-License-Identifier: Apache-2.0
// Reads of workgroup memory, 16 bytes an invocation, neighbours beside each other; each with one
// addition of four lanes and one of its index. Values are whole numbers below 16, sums below 2^24.
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 233) in;

layout(binding = 0) writeonly buffer out_blob { sfpvec4 out_data[]; };

layout(push_constant) uniform parameter {
  uint rounds;  // of STEPS each
} p;

const uint STEPS = 16;
const uint PLACES = 512;  // a power of two; 8 KiB

shared vec4 tile[PLACES];

void main() {
  uint l = gl_LocalInvocationID.x;
  for (uint i = l; i < PLACES; i += gl_WorkGroupSize.x) {
    tile[i] = vec4(i % 16, (i + 1) % 16, (i + 2) % 16, (i + 3) % 16);
  }
  barrier();
  vec4 sum = vec4(0);
  for (uint round = 0; round < p.rounds; round++) {
    [[unroll]] for (uint step = 0; step < STEPS; step++) {
      sum += tile[(l + round + step * 32) % PLACES];
    }
  }
  buffer_st4(out_data, gl_GlobalInvocationID.x, sum);
}
