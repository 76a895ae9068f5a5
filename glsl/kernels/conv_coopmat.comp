#version 450
// SPDX-License-Identifier: Apache-2.0
// A dense convolution of stride 1 by cooperative matrices of SIZE_M x SIZE_N x SIZE_K: products of
// halves, sums in single precision. The rows of a matrix are SIZE_M pixels that lie side by side.
// What the workgroup's pixels see of the input is loaded into workgroup memory once, and serves all
// taps of the window; weights are read where they are.
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
const uint STRIDE_C = OWN_N4 + 1;

shared lfpvec4 x_local[SEEN_H * SEEN_W * STRIDE_X];          // [line][pixel][vector]
shared vec4 c_local[groups * SIZE_M * STRIDE_C];             // [subgroup][pixel][column]

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

  for (uint i = l; i < SEEN_H * SEEN_W * in4; i += THREADS) {
    uint pixel = i / in4;
    uint c = i - pixel * in4;
    // Unsigned: left of and above the picture wrap around to large numbers.
    uint y = y0 + pixel / SEEN_W - p.pad_top;
    uint x = x0 + pixel % SEEN_W - p.pad_left;
    lfpvec4 v = lfpvec4(0);
    if (y < p.h && x < p.w) v = tensor_local4(x_data, ((picture * p.h + y) * p.w + x) * in4 + c);
    x_local[pixel * STRIDE_X + c] = v;
  }
  barrier();

  MATRIX_C acc[matrices_m * matrices_n];
  [[unroll]] for (uint i = 0; i < matrices_m * matrices_n; i++) acc[i] = MATRIX_C(0.0);
  for (uint ky = 0; ky < kh; ky++) {
    for (uint kx = 0; kx < kw; kx++) {
      uint weights = (ky * kw + kx) * in4 * 4 * p.n4 + n0;
      uint seen = ((group * matrices_m + ky) * SEEN_W + kx) * STRIDE_X;
      [[unroll]] for (uint c = 0; c < in4; c += SIZE_K / 4) {
        MATRIX_B b[matrices_n];
        [[unroll]] for (uint j = 0; j < matrices_n; j++) {
          coopMatLoad(b[j], weight_data, weights + c * 4 * p.n4 + j * (SIZE_N / 4), p.n4,
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
  }

  uint own_c = group * SIZE_M * STRIDE_C;
  [[unroll]] for (uint i = 0; i < matrices_m; i++) {
    [[unroll]] for (uint j = 0; j < matrices_n; j++) {
      coopMatStore(acc[i * matrices_n + j], c_local, own_c + j * (SIZE_N / 4), STRIDE_C,
                   gl_CooperativeMatrixLayoutRowMajor);
    }
    barrier();
    uint y = y0 + group * matrices_m + i;
    for (uint j = lane; j < SIZE_M * OWN_N4; j += SUBGROUP) {
      uint x = x0 + j / OWN_N4;
      uint n = n0 + j % OWN_N4;
      if (y >= p.outh || x >= p.outw || n >= p.n4) continue;
      uint o = ((picture * p.outh + y) * p.outw + x) * p.n4 + n;
      vec4 sum = c_local[own_c + j / OWN_N4 * STRIDE_C + j % OWN_N4];
      afpvec4 v = afpvec4(sum * scale_data[n] + bias_data[n]);
      tensor_st4(out_data, o, epilogue(v, load_residual(residual_data, o), p.e));
    }
    barrier();
  }
}
