#version 450
// SPDX-License-Identifier: Apache-2.0
// Nothing but products of cooperative matrices, halves with sums in single precision: four sums a
// subgroup, whose second factors are shifted against each other. Entries are -1, 0 and 1, so sums
// are exact; each is its product times `rounds` times STEPS.
#include "matrix_shape.glsl"

layout(local_size_x_id = 233) in;

layout(binding = 0) readonly buffer a_blob { sfpvec4 a_data[]; };  // SIZE_M x SIZE_K
layout(binding = 1) readonly buffer b_blob { sfpvec4 b_data[]; };  // (SIZE_K + SUMS - 1) x SIZE_N
layout(binding = 2) writeonly buffer out_blob { vec4 out_data[]; };  // [subgroup][sum] SIZE_M x SIZE_N

layout(push_constant) uniform parameter {
  uint rounds;  // of STEPS each
} p;

const uint SUMS = 4;
const uint STEPS = 8;
const uint ROWS_B = SIZE_K + SUMS - 1;

shared lfpvec4 a_local[SIZE_M * SIZE_K / 4];
shared lfpvec4 b_local[ROWS_B * SIZE_N / 4];

void main() {
  uint l = gl_LocalInvocationID.x;
  for (uint i = l; i < SIZE_M * SIZE_K / 4; i += gl_WorkGroupSize.x) {
    a_local[i] = sfp2lfpvec4(a_data[i]);
  }
  for (uint i = l; i < ROWS_B * SIZE_N / 4; i += gl_WorkGroupSize.x) {
    b_local[i] = sfp2lfpvec4(b_data[i]);
  }
  barrier();
  MATRIX_A a;
  MATRIX_B b[SUMS];
  MATRIX_C sum[SUMS];
  coopMatLoad(a, a_local, 0, SIZE_K / 4, gl_CooperativeMatrixLayoutRowMajor);
  [[unroll]] for (uint i = 0; i < SUMS; i++) {
    coopMatLoad(b[i], b_local, i * (SIZE_N / 4), SIZE_N / 4, gl_CooperativeMatrixLayoutRowMajor);
    sum[i] = MATRIX_C(0.0);
  }
  for (uint round = 0; round < p.rounds; round++) {
    [[unroll]] for (uint step = 0; step < STEPS; step++) {
      [[unroll]] for (uint i = 0; i < SUMS; i++) sum[i] = coopMatMulAdd(a, b[i], sum[i]);
    }
  }
  uint subgroup = gl_WorkGroupID.x * (gl_WorkGroupSize.x / SUBGROUP) + l / SUBGROUP;
  [[unroll]] for (uint i = 0; i < SUMS; i++) {
    coopMatStore(sum[i], out_data, (subgroup * SUMS + i) * (SIZE_M * SIZE_N / 4), SIZE_N / 4,
                 gl_CooperativeMatrixLayoutRowMajor);
  }
}
