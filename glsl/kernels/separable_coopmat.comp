#version 450
// SPDX-License-Identifier: Apache-2.0
// A depthwise separable convolution in one step: the depthwise one of a workgroup's pixels stays in
// workgroup memory, as halves, and is there the left operand of the pointwise one, C[M][N] = A[M][K] * B[K][N] by
// cooperative matrices of SIZE_M x SIZE_N x SIZE_K (products of halves, sums in single precision).
// A workgroup is groups_m x groups_n subgroups of SUBGROUP invocations; each of them computes matrices_m x
// matrices_n matrices. Workgroups that share their pixels compute the depthwise convolution each for itself.
// Lines of the depthwise output are whole runs of tile_w pixels; n4 is even, so that weights move in 16 bytes.

#include "matrix_shape.glsl"

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "epilogue.glsl"
#include "mac.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
TENSOR_IN(1, residual_data);
layout(binding = 2) readonly buffer window_blob { sfpvec4 window_data[]; };
layout(binding = 3) readonly buffer window_scale_blob { vec4 window_scale_data[]; };
layout(binding = 4) readonly buffer window_bias_blob { vec4 window_bias_data[]; };
layout(binding = 5) readonly buffer weight_blob { uvec4 weight_data[]; };  // eight halves
layout(binding = 6) readonly buffer scale_blob { vec4 scale_data[]; };
layout(binding = 7) readonly buffer bias_blob { vec4 bias_data[]; };
TENSOR_OUT(8, out_data);

// All of these size arrays or loops that have to be unrolled.
layout(constant_id = 2) const uint in4 = 4;  // K in vectors
layout(constant_id = 3) const uint kh = 3;
layout(constant_id = 4) const uint kw = 3;
layout(constant_id = 5) const uint stride_w = 1;
layout(constant_id = 6) const uint tile_w = 4;
layout(constant_id = 7) const uint tile_k4 = 4;  // vectors of K in a tile of weights: whole matrices
layout(constant_id = 8) const uint groups_m = 2;
layout(constant_id = 9) const uint groups_n = 2;
layout(constant_id = 10) const uint matrices_m = 1;
layout(constant_id = 11) const uint matrices_n = 1;

layout(push_constant) uniform parameter {
  Epilogue e;
  Epilogue window_e;  // of the depthwise convolution; of lines
  uint rows;
  uint n4;
  uint h;
  uint w;
  uint outh;
  uint outw;
  uint stride_h;
  uint pad_top;
  uint pad_left;
} p;

const uint THREADS = gl_WorkGroupSize.x;
const uint OWN_M = matrices_m * SIZE_M;  // of a subgroup
const uint OWN_N4 = matrices_n * SIZE_N / 4;
const uint BLOCK_M = groups_m * OWN_M;
const uint COLUMNS8 = groups_n * OWN_N4 / 2;  // eight columns each
const uint SPAN = (tile_w - 1) * stride_w + kw;  // of an input line
const uint RUNS = BLOCK_M / tile_w * in4;
const uint A_K4 = (in4 + tile_k4 - 1) / tile_k4 * tile_k4;
const uint SIZE_B = tile_k4 * 4 * COLUMNS8;
const uint LOADS_B = (SIZE_B + THREADS - 1) / THREADS;
const uint STEPS_C = (SIZE_M * OWN_N4 + SUBGROUP - 1) / SUBGROUP;

// Rows begin at whole 16 bytes, an odd number of them apart: that spreads eight rows over all banks.
const uint STRIDE_A = A_K4 + 2 - A_K4 / 2 % 2 * 2;  // 8 bytes each
const uint STRIDE_B = COLUMNS8 + 1 - COLUMNS8 % 2;  // 16 bytes each
const uint STRIDE_C = OWN_N4 + 1 - OWN_N4 % 2;      // 16 bytes each
const uint ALL_B = tile_k4 * 4 * STRIDE_B;
const uint ALL_C = groups_m * groups_n * SIZE_M * STRIDE_C;

shared lfpvec4 a_local[BLOCK_M * STRIDE_A];                 // [pixel][k4]
shared uvec4 other_local[ALL_B > ALL_C ? ALL_B : ALL_C];    // weights [k][column]; then sums [subgroup][pixel][column]

uvec4 fetch_b(uint j, uint n0, uint k0) {
  uint n = n0 + j % COLUMNS8;
  uint k = k0 * 4 + j / COLUMNS8;
  if (n >= p.n4 / 2 || k >= in4 * 4) return uvec4(0);
  return weight_data[k * (p.n4 / 2) + n];
}

// One line of the window, over a run of pixels from x0 on.
void add_line(inout acpvec4 acc[tile_w], uint ky, uint picture, uint y0, uint x0, uint c) {
  // Unsigned: left of and above the picture wrap around to large numbers.
  uint y = y0 + ky - p.pad_top;
  uint in_line = (picture * p.h + (y < p.h ? y : 0)) * p.w;
  afpvec4 a[SPAN];
  [[unroll]] for (uint i = 0; i < SPAN; i++) {
    uint x = x0 + i - p.pad_left;
    bool inside = x < p.w && y < p.h;
    a[i] = tensor_ld4(x_data, (in_line + (inside ? x : 0)) * in4 + c);
    a[i] = inside ? a[i] : afpvec4(0.0);
  }
  [[unroll]] for (uint kx = 0; kx < kw; kx++) {
    afpvec4 b = buffer_ld4(window_data, (ky * kw + kx) * in4 + c);
    [[unroll]] for (uint t = 0; t < tile_w; t++) mac(acc[t], a[t * stride_w + kx], b);
  }
}

// The depthwise convolution of the workgroup's pixels.
void fill_a(uint l, uint m0) {
  for (uint j = l; j < RUNS; j += THREADS) {
    uint run = j / in4;
    uint c = j - run * in4;
    // Behind the last row stands the last run once more, and is not stored.
    uint m = min(m0 + run * tile_w, p.rows - tile_w);
    uint line = m / p.outw;  // picture * outh + y
    uint x0 = (m - line * p.outw) * stride_w;
    uint picture = line / p.outh;
    uint y0 = (line - picture * p.outh) * p.stride_h;
    acpvec4 acc[tile_w];
    [[unroll]] for (uint t = 0; t < tile_w; t++) acc[t] = acpvec4(0.0);
    [[unroll]] for (uint ky = 0; ky < kh; ky++) add_line(acc, ky, picture, y0, x0, c);
    vec4 scale = window_scale_data[c];
    vec4 bias = window_bias_data[c];
    [[unroll]] for (uint t = 0; t < tile_w; t++) {
      afpvec4 v = activate_lines(afpvec4(vec4(acc[t]) * scale + bias), p.window_e);
      v = v * afp(p.window_e.post_scale) + afp(p.window_e.post_bias);
      a_local[(run * tile_w + t) * STRIDE_A + c] = afp2lfpvec4(v);
    }
  }
  // Nothing times 0 is not always 0.
  for (uint j = l; j < BLOCK_M * (A_K4 - in4); j += THREADS) {
    a_local[j / (A_K4 - in4) * STRIDE_A + in4 + j % (A_K4 - in4)] = lfpvec4(0);
  }
}

void main() {
  uint l = gl_LocalInvocationID.x;
  uint group = l / SUBGROUP;
  uint lane = l % SUBGROUP;
  uint group_m = group / groups_n * OWN_M;
  uint group_n = group % groups_n;
  uint n0 = gl_WorkGroupID.x * COLUMNS8;
  uint m0 = (gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * BLOCK_M;
  if (m0 >= p.rows) return;  // all of the workgroup

  uvec4 next_b[LOADS_B];
  [[unroll]] for (uint i = 0; i < LOADS_B; i++) next_b[i] = fetch_b(l + i * THREADS, n0, 0);
  fill_a(l, m0);

  MATRIX_C acc[matrices_m * matrices_n];
  [[unroll]] for (uint i = 0; i < matrices_m * matrices_n; i++) acc[i] = MATRIX_C(0.0);
  for (uint k0 = 0; k0 < A_K4; k0 += tile_k4) {
    if (k0 != 0) barrier();
    [[unroll]] for (uint i = 0; i < LOADS_B; i++) {
      uint j = l + i * THREADS;
      if (j < SIZE_B) other_local[j / COLUMNS8 * STRIDE_B + j % COLUMNS8] = next_b[i];
    }
    barrier();
    if (k0 + tile_k4 < A_K4) {
      [[unroll]] for (uint i = 0; i < LOADS_B; i++) {
        next_b[i] = fetch_b(l + i * THREADS, n0, k0 + tile_k4);
      }
    }
    [[unroll]] for (uint k = 0; k < tile_k4; k += SIZE_K / 4) {
      MATRIX_B b[matrices_n];
      [[unroll]] for (uint j = 0; j < matrices_n; j++) {
        coopMatLoad(b[j], other_local, k * 4 * STRIDE_B + group_n * (OWN_N4 / 2) + j * (SIZE_N / 8), STRIDE_B,
                    gl_CooperativeMatrixLayoutRowMajor);
      }
      [[unroll]] for (uint i = 0; i < matrices_m; i++) {
        MATRIX_A a;
        coopMatLoad(a, a_local, (group_m + i * SIZE_M) * STRIDE_A + k0 + k, STRIDE_A,
                    gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint j = 0; j < matrices_n; j++) {
          acc[i * matrices_n + j] = coopMatMulAdd(a, b[j], acc[i * matrices_n + j]);
        }
      }
    }
  }
  barrier();  // sums go where weights were

  // What a subgroup stores and finishes is its own, so that it waits for nobody else.
  uint own_c = group * SIZE_M * STRIDE_C;
  [[unroll]] for (uint i = 0; i < matrices_m; i++) {
    [[unroll]] for (uint j = 0; j < matrices_n; j++) {
      coopMatStore(acc[i * matrices_n + j], other_local, own_c + j * (SIZE_N / 4), STRIDE_C,
                   gl_CooperativeMatrixLayoutRowMajor);
    }
    // What the epilogue reads is on its way while the sums are.
    uint place[STEPS_C];
    afpvec4 r[STEPS_C];
    vec4 scale[STEPS_C];
    vec4 bias[STEPS_C];
    [[unroll]] for (uint step = 0; step < STEPS_C; step++) {
      uint j = lane + step * SUBGROUP;
      uint m = m0 + group_m + i * SIZE_M + j / OWN_N4;
      uint n = n0 * 2 + group_n * OWN_N4 + j % OWN_N4;
      place[step] = ~0u;
      if (j >= SIZE_M * OWN_N4 || m >= p.rows || n >= p.n4) continue;
      place[step] = m * p.n4 + n;
      r[step] = load_residual(residual_data, place[step]);
      scale[step] = scale_data[n];
      bias[step] = bias_data[n];
    }
    subgroup_wait();
    [[unroll]] for (uint step = 0; step < STEPS_C; step++) {
      if (place[step] == ~0u) continue;
      uint j = lane + step * SUBGROUP;
      vec4 sum = uintBitsToFloat(other_local[own_c + j / OWN_N4 * STRIDE_C + j % OWN_N4]);
      afpvec4 v = afpvec4(sum * scale[step] + bias[step]);
      tensor_st4(out_data, place[step], epilogue(v, r[step], p.e));
    }
    subgroup_wait();
  }
}
