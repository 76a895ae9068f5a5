#version 450
// SPDX-License-Identifier: Apache-2.0
// Nothing but multiply-adds: `chains` of four lanes an invocation, which hide how long one takes. With
// a factor of -1 a step makes x into addend - x; STEPS is odd, and the addend another one in each
// round, so how often the loop ran shows in the result. All values are small whole numbers, exact in
// 16 bits, too.
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 233) in;

// Eight for GPUs; a CPU has registers for two.
layout(constant_id = 1) const uint chains = 8;

layout(binding = 0) writeonly buffer out_blob { sfpvec4 out_data[]; };

layout(push_constant) uniform parameter {
  uint rounds;  // of STEPS each
  float factor;
} p;

const uint STEPS = 31;
const float ADDENDS = 61;  // odd, so that the sum of them in turn stays small

void main() {
  afpvec4 factor = afpvec4(vec4(p.factor));
  float next = 0;
  uint lane = gl_LocalInvocationID.x % 16;
  afpvec4 x[chains];
  [[unroll]] for (uint i = 0; i < chains; i++) {
    x[i] = afpvec4(vec4(lane, lane + 1, lane + 2, lane + 3) + vec4(i));
  }
  for (uint round = 0; round < p.rounds; round++) {
    afpvec4 addend = afpvec4(vec4(next));
    next = next < ADDENDS - 1 ? next + 1 : 0;
    [[unroll]] for (uint step = 0; step < STEPS; step++) {
      [[unroll]] for (uint i = 0; i < chains; i++) x[i] = fma(x[i], factor, addend);
    }
  }
  [[unroll]] for (uint i = 1; i < chains; i++) x[0] += x[i];
  buffer_st4(out_data, gl_GlobalInvocationID.x, x[0]);
}
