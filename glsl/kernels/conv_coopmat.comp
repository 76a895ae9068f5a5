#version 450
// SPDX-License-Identifier: Apache-2.0
// A dense convolution of stride 1 by cooperative matrices of SIZE_M x SIZE_N x SIZE_K: products of
// halves, sums in single precision. The rows of a matrix are SIZE_M pixels that lie side by side.
// What the workgroup's pixels see of the input is loaded into workgroup memory once, and serves all
// taps of the window; weights pass through it tap by tap.
// A workgroup is `groups` subgroups of SUBGROUP invocations, each with matrices_m lines of
// SIZE_M pixels and matrices_n x SIZE_N columns. Input channels are whole matrices (in4 a multiple of
// SIZE_K / 4), and columns come in pairs of vectors, so that all that matrices load begins at whole 16 bytes.

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

// All of these size arrays or loops that have to be unrolled.
layout(constant_id = 2) const uint in4 = 4;
layout(constant_id = 3) const uint kh = 3;
layout(constant_id = 4) const uint kw = 3;
layout(constant_id = 5) const uint groups = 4;
layout(constant_id = 6) const uint matrices_m = 1;
layout(constant_id = 7) const uint matrices_n = 1;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint n4;
  uint h;
  uint w;
  uint outh;
  uint outw;
  uint pad_top;
  uint pad_left;
  uint tiles_y;  // of a picture
  uint tiles_x;
} p;

const uint THREADS = gl_WorkGroupSize.x;
const uint TILE_H = groups * matrices_m;
const uint SEEN_H = TILE_H + kh - 1;
const uint SEEN_W = SIZE_M + kw - 1;
const uint OWN_N4 = matrices_n * SIZE_N / 4;

// In vectors; an odd number of 16 bytes, which spreads eight pixels over all banks.
const uint STRIDE_X = in4 + 2 - in4 / 2 % 2 * 2;
const uint STRIDE_B = OWN_N4 + 2 - OWN_N4 / 2 % 2 * 2;
const uint STRIDE_C = OWN_N4 + 1 - OWN_N4 / 2 % 2;
const uint SIZE_B = in4 * 4 * OWN_N4;  // of a tap
const uint LOADS_B = (SIZE_B + THREADS - 1) / THREADS;
const uint LOADS_X = 8;  // on their way at a time
const uint STEPS_C = (SIZE_M * OWN_N4 + SUBGROUP - 1) / SUBGROUP;

shared lfpvec4 x_local[SEEN_H * SEEN_W * STRIDE_X];                   // [line][pixel][vector]
shared lfpvec4 b_local[in4 * 4 * STRIDE_B];                           // [k][column]
shared vec4 c_local[groups * SIZE_M * STRIDE_C];                      // [subgroup][pixel][column]

// Vector l + i * THREADS of a tap's weights.
lfpvec4 fetch_b(uint l, uint i, uint tap, uint n0) {
  uint j = l + i * THREADS;
  if (j >= SIZE_B) return lfpvec4(0);
  return sfp2lfpvec4(weight_data[(tap * in4 * 4 + j / OWN_N4) * p.n4 + n0 + j % OWN_N4]);
}

void main() {
  uint l = gl_LocalInvocationID.x;
  uint group = l / SUBGROUP;
  uint lane = l % SUBGROUP;
  uint n0 = gl_WorkGroupID.x * OWN_N4;
  uint tile = gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y;
  uint line = tile / p.tiles_x;
  uint picture = line / p.tiles_y;
  uint y0 = (line - picture * p.tiles_y) * TILE_H;
  uint x0 = (tile - line * p.tiles_x) * SIZE_M;

  lfpvec4 next_b[LOADS_B];
  [[unroll]] for (uint i = 0; i < LOADS_B; i++) next_b[i] = fetch_b(l, i, 0, n0);
  for (uint begin = l; begin < SEEN_H * SEEN_W * in4; begin += THREADS * LOADS_X) {
    lfpvec4 v[LOADS_X];
    [[unroll]] for (uint i = 0; i < LOADS_X; i++) {
      uint pixel = (begin + i * THREADS) / in4;
      uint c = begin + i * THREADS - pixel * in4;
      // Unsigned: left of and above the picture wrap around to large numbers.
      uint y = y0 + pixel / SEEN_W - p.pad_top;
      uint x = x0 + pixel % SEEN_W - p.pad_left;
      v[i] = lfpvec4(0);
      if (y < p.h && x < p.w) v[i] = tensor_local4(x_data, ((picture * p.h + y) * p.w + x) * in4 + c);
    }
    [[unroll]] for (uint i = 0; i < LOADS_X; i++) {
      uint pixel = (begin + i * THREADS) / in4;
      uint c = begin + i * THREADS - pixel * in4;
      if (pixel < SEEN_H * SEEN_W) x_local[pixel * STRIDE_X + c] = v[i];
    }
  }

  MATRIX_C acc[matrices_m * matrices_n];
  [[unroll]] for (uint i = 0; i < matrices_m * matrices_n; i++) acc[i] = MATRIX_C(0.0);
  for (uint tap = 0; tap < kh * kw; tap++) {
    barrier();
    [[unroll]] for (uint i = 0; i < LOADS_B; i++) {
      uint j = l + i * THREADS;
      if (j < SIZE_B) b_local[j / OWN_N4 * STRIDE_B + j % OWN_N4] = next_b[i];
    }
    barrier();
    if (tap + 1 < kh * kw) {
      [[unroll]] for (uint i = 0; i < LOADS_B; i++) next_b[i] = fetch_b(l, i, tap + 1, n0);
    }
    uint seen = ((group * matrices_m + tap / kw) * SEEN_W + tap % kw) * STRIDE_X;
    [[unroll]] for (uint c = 0; c < in4; c += SIZE_K / 4) {
      MATRIX_B b[matrices_n];
      [[unroll]] for (uint j = 0; j < matrices_n; j++) {
        coopMatLoad(b[j], b_local, c * 4 * STRIDE_B + j * (SIZE_N / 4), STRIDE_B,
                    gl_CooperativeMatrixLayoutRowMajor);
      }
      [[unroll]] for (uint i = 0; i < matrices_m; i++) {
        MATRIX_A a;
        coopMatLoad(a, x_local, seen + i * SEEN_W * STRIDE_X + c, STRIDE_X,
                    gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint j = 0; j < matrices_n; j++) {
          acc[i * matrices_n + j] = coopMatMulAdd(a, b[j], acc[i * matrices_n + j]);
        }
      }
    }
  }

  uint own_c = group * SIZE_M * STRIDE_C;
  [[unroll]] for (uint i = 0; i < matrices_m; i++) {
    [[unroll]] for (uint j = 0; j < matrices_n; j++) {
      coopMatStore(acc[i * matrices_n + j], c_local, own_c + j * (SIZE_N / 4), STRIDE_C,
                   gl_CooperativeMatrixLayoutRowMajor);
    }
    // What the epilogue reads is on its way while the sums are.
    uint place[STEPS_C];
    afpvec4 r[STEPS_C];
    vec4 scale[STEPS_C];
    vec4 bias[STEPS_C];
    uint y = y0 + group * matrices_m + i;
    [[unroll]] for (uint step = 0; step < STEPS_C; step++) {
      uint j = lane + step * SUBGROUP;
      uint x = x0 + j / OWN_N4;
      uint n = n0 + j % OWN_N4;
      place[step] = ~0u;
      if (j >= SIZE_M * OWN_N4 || y >= p.outh || x >= p.outw) continue;
      place[step] = ((picture * p.outh + y) * p.outw + x) * p.n4 + n;
      r[step] = load_residual(residual_data, place[step]);
      scale[step] = scale_data[n];
      bias[step] = bias_data[n];
    }
    subgroup_wait();
    [[unroll]] for (uint step = 0; step < STEPS_C; step++) {
      if (place[step] == ~0u) continue;
      uint j = lane + step * SUBGROUP;
      vec4 sum = c_local[own_c + j / OWN_N4 * STRIDE_C + j % OWN_N4];
      afpvec4 v = afpvec4(sum * scale[step] + bias[step]);
      tensor_st4(out_data, place[step], epilogue(v, r[step], p.e));
    }
    subgroup_wait();
  }
}
