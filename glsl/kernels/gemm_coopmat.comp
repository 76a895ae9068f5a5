#version 450
// SPDX-License-Identifier: Apache-2.0
// C[M][N] = A[M][K] * B[K][N] by cooperative matrices of SIZE x SIZE x SIZE (16 or 8): products of
// halves, sums in single precision. Bindings, constants and epilogue are those of gemm_nc.
// A workgroup is one subgroup of ncnn_subgroupSize invocations and computes BLOCK_M pixels times
// BLOCK_N4 vectors of columns. Tiles pass through workgroup memory, so that M, N and K may be
// anything: what lies outside of a matrix is loaded as 0 and not stored.

#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = ncnn_subgroupSize) in;

#include "epilogue.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
TENSOR_IN(1, residual_data);
layout(binding = 2) readonly buffer weight_blob { sfpvec4 weight_data[]; };
layout(binding = 3) readonly buffer scale_blob { vec4 scale_data[]; };
layout(binding = 4) readonly buffer bias_blob { vec4 bias_data[]; };
TENSOR_OUT(5, out_data);

layout(constant_id = 2) const uint rows = 0;  // M
layout(constant_id = 3) const uint k4 = 0;    // K in vectors
layout(constant_id = 4) const uint n4 = 0;    // columns in vectors

layout(push_constant) uniform parameter {
  Epilogue e;
  uint rows;
  uint k4;
  uint n4;
} p;

const uint SIZE_4 = SIZE / 4;
const uint MATRICES_M = 2;
const uint MATRICES_N = 2;
const uint BLOCK_M = MATRICES_M * SIZE;
const uint BLOCK_N4 = MATRICES_N * SIZE_4;

// Strides in vectors. Rows of a matrix begin at whole 16 bytes, which is two vectors of halves; the
// padding spreads them over the banks.
const uint STRIDE_A = SIZE_4 + 2;
const uint STRIDE_B = BLOCK_N4 + 2;
const uint STRIDE_C = BLOCK_N4 + 1;

shared lfpvec4 a_local[BLOCK_M * STRIDE_A];  // [pixel][k4]
shared lfpvec4 b_local[SIZE * STRIDE_B];     // [k][column]
shared vec4 c_local[BLOCK_M * STRIDE_C];     // [pixel][column]

void load_a(uint lane, uint m0, uint k0) {
  for (uint i = lane; i < BLOCK_M * SIZE_4; i += gl_WorkGroupSize.x) {
    uint row = i / SIZE_4;
    uint m = m0 + row;
    uint k = k0 + i % SIZE_4;
    lfpvec4 v = lfpvec4(0);
    if (m < psc(rows) && k < psc(k4)) v = tensor_local4(x_data, m * psc(k4) + k);
    a_local[row * STRIDE_A + i % SIZE_4] = v;
  }
}

void load_b(uint lane, uint n0, uint k0) {
  for (uint i = lane; i < SIZE * BLOCK_N4; i += gl_WorkGroupSize.x) {
    uint row = i / BLOCK_N4;
    uint k = k0 * 4 + row;
    uint n = n0 + i % BLOCK_N4;
    lfpvec4 v = lfpvec4(0);
    if (k < psc(k4) * 4 && n < psc(n4)) v = sfp2lfpvec4(weight_data[k * psc(n4) + n]);
    b_local[row * STRIDE_B + i % BLOCK_N4] = v;
  }
}

void main() {
  uint lane = gl_LocalInvocationID.x;
  uint n0 = gl_WorkGroupID.x * BLOCK_N4;
  uint m0 = (gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * BLOCK_M;
  if (m0 >= psc(rows)) return;  // all of the workgroup

  coopmat<acp, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseAccumulator> acc[MATRICES_M][MATRICES_N];
  [[unroll]] for (uint i = 0; i < MATRICES_M; i++) {
    [[unroll]] for (uint j = 0; j < MATRICES_N; j++) {
      acc[i][j] = coopmat<acp, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseAccumulator>(0.0);
    }
  }
  for (uint k0 = 0; k0 < psc(k4); k0 += SIZE_4) {
    barrier();
    load_a(lane, m0, k0);
    load_b(lane, n0, k0);
    barrier();
    coopmat<afp, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseB> b[MATRICES_N];
    [[unroll]] for (uint j = 0; j < MATRICES_N; j++) {
      coopMatLoad(b[j], b_local, j * SIZE_4, STRIDE_B, gl_CooperativeMatrixLayoutRowMajor);
    }
    [[unroll]] for (uint i = 0; i < MATRICES_M; i++) {
      coopmat<afp, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseA> a;
      coopMatLoad(a, a_local, i * SIZE * STRIDE_A, STRIDE_A, gl_CooperativeMatrixLayoutRowMajor);
      [[unroll]] for (uint j = 0; j < MATRICES_N; j++) acc[i][j] = coopMatMulAdd(a, b[j], acc[i][j]);
    }
  }
  [[unroll]] for (uint i = 0; i < MATRICES_M; i++) {
    [[unroll]] for (uint j = 0; j < MATRICES_N; j++) {
      coopMatStore(acc[i][j], c_local, i * SIZE * STRIDE_C + j * SIZE_4, STRIDE_C,
                   gl_CooperativeMatrixLayoutRowMajor);
    }
  }
  barrier();

  for (uint i = lane; i < BLOCK_M * BLOCK_N4; i += gl_WorkGroupSize.x) {
    uint m = m0 + i / BLOCK_N4;
    uint n = n0 + i % BLOCK_N4;
    if (m >= psc(rows) || n >= psc(n4)) continue;
    vec4 sum = c_local[i / BLOCK_N4 * STRIDE_C + i % BLOCK_N4];
    afpvec4 v = afpvec4(sum * scale_data[n] + bias_data[n]);
    uint o = m * psc(n4) + n;
    tensor_st4(out_data, o, epilogue(v, load_residual(residual_data, o), p.e));
  }
}
