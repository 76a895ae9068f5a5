#version 450
// SPDX-License-Identifier: Apache-2.0
// C[M][N] = A[M][K] * B[K][N] by cooperative matrices of SIZE_M x SIZE_N x SIZE_K: products of
// halves, sums in single precision. Bindings, constants and epilogue are those of gemm_nc, WINDOW
// and SCATTER, too.
// A workgroup is groups_k x groups_m x groups_n subgroups of SUBGROUP invocations; each of
// them computes matrices_m x matrices_n matrices, those of one groups_k the sums over a share of K:
// small results have too few tiles to fill a device. Tiles pass through workgroup memory, so that M, N and K
// may be anything: what lies outside of a matrix is loaded as 0 and not stored.

#include "matrix_shape.glsl"

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

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
// These size arrays, so they are constants and nothing else.
layout(constant_id = 5) const uint tile_k4 = 8;  // vectors of K in a tile: whole matrices a group
layout(constant_id = 6) const uint groups_m = 2;
layout(constant_id = 7) const uint groups_n = 2;
layout(constant_id = 8) const uint matrices_m = 2;
layout(constant_id = 9) const uint matrices_n = 2;
layout(constant_id = 10) const uint groups_k = 1;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint rows;
  uint k4;
  uint n4;
#if WINDOW
  uint in4;  // vectors of an input pixel
  uint h;
  uint w;
  uint outh;
  uint outw;
  uint kh;
  uint kw;
  uint stride_h;
  uint stride_w;
  uint pad_top;
  uint pad_left;
  uint dilation_h;
  uint dilation_w;
#endif
#if SCATTER
  uint out4;
  uint w;  // of the input
  uint kh;
  uint kw;
#endif
} p;

const uint THREADS = gl_WorkGroupSize.x;
const uint OWN_M = matrices_m * SIZE_M;  // of a subgroup
const uint OWN_N4 = matrices_n * SIZE_N / 4;
const uint BLOCK_M = groups_m * OWN_M;
const uint COLUMNS = groups_n * OWN_N4;

// Strides in vectors. Rows of a matrix begin at whole 16 bytes, which is two vectors of halves; an
// odd number of them spreads eight rows over all banks.
const uint STRIDE_A = tile_k4 + 2 - tile_k4 / 2 % 2 * 2;
const uint STRIDE_B = COLUMNS + 2 - COLUMNS / 2 % 2 * 2;
const uint STRIDE_C = OWN_N4 + 1;
const uint SIZE_A = BLOCK_M * tile_k4;
const uint SIZE_B = COLUMNS * tile_k4 * 4;
const uint LOADS_A = (SIZE_A + THREADS - 1) / THREADS;
const uint LOADS_B = (SIZE_B + THREADS - 1) / THREADS;

shared lfpvec4 a_local[BLOCK_M * STRIDE_A];                        // [pixel][k4]
shared lfpvec4 b_local[tile_k4 * 4 * STRIDE_B];                    // [k][column]
shared vec4 c_local[groups_k * groups_m * groups_n * SIZE_M * STRIDE_C];  // [subgroup][pixel][column]

#include "matrix_operands.glsl"

// Vectors of a row of matrices that an invocation finishes.
const uint SHARERS = groups_k * SUBGROUP;
const uint STEPS_C = (SIZE_M * OWN_N4 + SHARERS - 1) / SHARERS;

// Where row m, column n of the product goes, and its output channel.
uvec2 place_of(uint m, uint n) {
#if SCATTER
  uint tap = n / p.out4;
  uint channel = n - tap * p.out4;
  uint y = tap / p.kw;
  uint line = m / p.w;
  uint column = m - line * p.w;
  return uvec2(((line * p.kh + y) * p.w * p.kw + column * p.kw + tap - y * p.kw) * p.out4 + channel, channel);
#else
  return uvec2(m * psc(n4) + n, n);
#endif
}

// Until the sums that are added up are there. Where each subgroup has all of K it waits for nobody else.
void sums_wait() {
  if (groups_k == 1) {
    subgroup_wait();
  } else {
    barrier();
  }
}

void main() {
  uint l = gl_LocalInvocationID.x;
  uint group = l / SUBGROUP;
  uint lane = l % SUBGROUP;
  uint group_m = group / groups_n % groups_m * OWN_M;
  uint group_n4 = group % groups_n * OWN_N4;
  uint group_k = group / (groups_n * groups_m);
  uint n0 = gl_WorkGroupID.x * COLUMNS;
  uint m0 = (gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * BLOCK_M;
  if (m0 >= psc(rows)) return;  // all of the workgroup

  MATRIX_C acc[matrices_m * matrices_n];
  [[unroll]] for (uint i = 0; i < matrices_m * matrices_n; i++) acc[i] = MATRIX_C(0.0);

#if WINDOW
  place_windows(l, m0);
#endif
  lfpvec4 next_a[LOADS_A];
  lfpvec4 next_b[LOADS_B];
  [[unroll]] for (uint i = 0; i < LOADS_A; i++) next_a[i] = fetch_a(l, i, m0, 0);
  [[unroll]] for (uint i = 0; i < LOADS_B; i++) next_b[i] = fetch_b(l + i * THREADS, n0, 0);

  for (uint k0 = 0; k0 < psc(k4); k0 += tile_k4) {
    barrier();
    [[unroll]] for (uint i = 0; i < LOADS_A; i++) {
      uint j = l + i * THREADS;
      if (j < SIZE_A) a_local[j / tile_k4 * STRIDE_A + j % tile_k4] = next_a[i];
    }
    [[unroll]] for (uint i = 0; i < LOADS_B; i++) {
      uint j = l + i * THREADS;
      if (j < SIZE_B) b_local[j / COLUMNS * STRIDE_B + j % COLUMNS] = next_b[i];
    }
    barrier();
    if (k0 + tile_k4 < psc(k4)) {
      [[unroll]] for (uint i = 0; i < LOADS_A; i++) next_a[i] = fetch_a(l, i, m0, k0 + tile_k4);
      [[unroll]] for (uint i = 0; i < LOADS_B; i++) {
        next_b[i] = fetch_b(l + i * THREADS, n0, k0 + tile_k4);
      }
    }
    [[unroll]] for (uint step = 0; step < tile_k4 / groups_k; step += SIZE_K / 4) {
      uint k = group_k * (tile_k4 / groups_k) + step;
      MATRIX_B b[matrices_n];
      [[unroll]] for (uint j = 0; j < matrices_n; j++) {
        coopMatLoad(b[j], b_local, k * 4 * STRIDE_B + group_n4 + j * (SIZE_N / 4), STRIDE_B,
                    gl_CooperativeMatrixLayoutRowMajor);
      }
      [[unroll]] for (uint i = 0; i < matrices_m; i++) {
        MATRIX_A a;
        coopMatLoad(a, a_local, (group_m + i * SIZE_M) * STRIDE_A + k, STRIDE_A,
                    gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint j = 0; j < matrices_n; j++) {
          acc[i * matrices_n + j] = coopMatMulAdd(a, b[j], acc[i * matrices_n + j]);
        }
      }
    }
  }

  // Matrices that share their place in C stand a layer apart.
  const uint layer = groups_m * groups_n * SIZE_M * STRIDE_C;
  uint own_c = group % (groups_m * groups_n) * SIZE_M * STRIDE_C;
  [[unroll]] for (uint i = 0; i < matrices_m; i++) {
    [[unroll]] for (uint j = 0; j < matrices_n; j++) {
      coopMatStore(acc[i * matrices_n + j], c_local,
                   group_k * layer + own_c + j * (SIZE_N / 4), STRIDE_C,
                   gl_CooperativeMatrixLayoutRowMajor);
    }
    // What the epilogue reads is on its way while the sums are.
    uint place[STEPS_C];
    afpvec4 r[STEPS_C];
    vec4 scale[STEPS_C];
    vec4 bias[STEPS_C];
    [[unroll]] for (uint step = 0; step < STEPS_C; step++) {
      uint j = group_k * SUBGROUP + lane + step * SHARERS;
      uint m = m0 + group_m + i * SIZE_M + j / OWN_N4;
      uint n = n0 + group_n4 + j % OWN_N4;
      place[step] = ~0u;
      if (j >= SIZE_M * OWN_N4 || m >= psc(rows) || n >= psc(n4)) continue;
      uvec2 o = place_of(m, n);
      place[step] = o.x;
      r[step] = load_residual(residual_data, o.x);
      scale[step] = scale_data[o.y];
      bias[step] = bias_data[o.y];
    }
    sums_wait();
    [[unroll]] for (uint step = 0; step < STEPS_C; step++) {
      if (place[step] == ~0u) continue;
      uint j = group_k * SUBGROUP + lane + step * SHARERS;
      uint at = own_c + j / OWN_N4 * STRIDE_C + j % OWN_N4;
      vec4 sum = c_local[at];
      [[unroll]] for (uint g = 1; g < groups_k; g++) sum += c_local[at + g * layer];
      afpvec4 v = afpvec4(sum * scale[step] + bias[step]);
      tensor_st4(out_data, place[step], epilogue(v, r[step], p.e));
    }
    sums_wait();
  }
}
