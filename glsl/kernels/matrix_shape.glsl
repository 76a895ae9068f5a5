// SPDX-License-Identifier: Apache-2.0
// Cooperative matrices of halves with sums in single precision: SIZE_M x SIZE_K times
// SIZE_K x SIZE_N in a subgroup of SUBGROUP invocations. The axis MATRIX has two digits for each.
#extension GL_KHR_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require

#define SIZE_M (MATRIX / 1000000)
#define SIZE_N (MATRIX / 10000 % 100)
#define SIZE_K (MATRIX / 100 % 100)
#define SUBGROUP (MATRIX % 100)

#define MATRIX_A coopmat<float16_t, gl_ScopeSubgroup, SIZE_M, SIZE_K, gl_MatrixUseA>
#define MATRIX_B coopmat<float16_t, gl_ScopeSubgroup, SIZE_K, SIZE_N, gl_MatrixUseB>
#define MATRIX_C coopmat<float, gl_ScopeSubgroup, SIZE_M, SIZE_N, gl_MatrixUseAccumulator>

// Until all that this subgroup has stored in workgroup memory is there for all of it.
void subgroup_wait() {
  subgroupMemoryBarrierShared();
  subgroupBarrier();
}
