#version 450
// SPDX-License-Identifier: Apache-2.0
// C[M][N] = A[M][K] * B[K][N]: tiles of both matrices pass through workgroup memory.
// A workgroup of X x Y x Z invocations computes Y*TILE_M pixels times X vectors of columns; the host
// shapes it to the matrix with the local size. Z, which is 1 or 4, splits K: small matrices have
// too few tiles to fill a device, and then each of Z layers adds a part of every tile's products.
// WINDOW 1: a dense convolution, the rows of A being the windows that the kernel sees (K runs over
// taps and then input channels; nothing of it is ever stored).
// SCATTER 1: a transposed convolution whose kernel equals its stride. The columns are
// [kh][kw][output channels], and each goes to a pixel of its own.
// DIRECT 0: the next tile is fetched into registers while the present one is multiplied.
// DIRECT 1: global memory straight to workgroup memory, for drivers that miscompile or spill the
// register arrays of the first form.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "mac.glsl"
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
// Vectors of K in a tile; sizes arrays, so it is a constant and nothing else. A multiple of Z.
layout(constant_id = 5) const uint tile_k4 = 4;

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

const uint TILE_M = 4;

const uint X = gl_WorkGroupSize.x;
const uint Y = gl_WorkGroupSize.y;
const uint Z = gl_WorkGroupSize.z;
const uint THREADS = X * Y * Z;
const uint COLUMNS = X;
const uint BLOCK_M = Y * TILE_M;
// Two vectors of padding: eight neighbours that write two pixels of four vectors each hit
// eight different groups of banks.
const uint STRIDE_A = BLOCK_M + 2;
const uint SIZE_A = BLOCK_M * tile_k4;
const uint SIZE_B = X * tile_k4 * 4;
const uint LOADS_A = (SIZE_A + THREADS - 1) / THREADS;
const uint LOADS_B = (SIZE_B + THREADS - 1) / THREADS;

shared lfpvec4 a_local[tile_k4 * STRIDE_A];  // [k4][pixel]
shared lfpvec4 b_local[SIZE_B];              // [k][column]
// Sums on their way to layer 0; next to nothing where Z is 1. (No ?: in an array's size: some
// drivers get that wrong.)
shared vec4 sum_local[X * Y * TILE_M * ((Z + 2) / 4) + 1];

// Where an element of the tile of A stands in workgroup memory: transposed.
#define PLACE_A(i) ((i) % tile_k4 * STRIDE_A + (i) / tile_k4)

#include "matrix_operands.glsl"

void main() {
  uint tx = gl_LocalInvocationID.x;
  uint ty = gl_LocalInvocationID.y;
  uint tz = gl_LocalInvocationID.z;
  uint l = (tz * Y + ty) * X + tx;
  uint n0 = gl_WorkGroupID.x * X;
  uint m0 = (gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * BLOCK_M;

  acpvec4 acc[TILE_M];
  [[unroll]] for (uint i = 0; i < TILE_M; i++) acc[i] = acpvec4(0.0);

#if WINDOW
  place_windows(l, m0);
#endif
#if !DIRECT
  lfpvec4 next_a[LOADS_A];
  lfpvec4 next_b[LOADS_B];
  [[unroll]] for (uint i = 0; i < LOADS_A; i++) next_a[i] = fetch_a(l, i, m0, 0);
  [[unroll]] for (uint i = 0; i < LOADS_B; i++) next_b[i] = fetch_b(l + i * THREADS, n0, 0);
#endif

  for (uint k0 = 0; k0 < psc(k4); k0 += tile_k4) {
    barrier();
    [[unroll]] for (uint i = 0; i < LOADS_A; i++) {
      uint j = l + i * THREADS;
#if DIRECT
      if (j < SIZE_A) a_local[PLACE_A(j)] = fetch_a(l, i, m0, k0);
#else
      if (j < SIZE_A) a_local[PLACE_A(j)] = next_a[i];
#endif
    }
    [[unroll]] for (uint i = 0; i < LOADS_B; i++) {
      uint j = l + i * THREADS;
#if DIRECT
      if (j < SIZE_B) b_local[j] = fetch_b(j, n0, k0);
#else
      if (j < SIZE_B) b_local[j] = next_b[i];
#endif
    }
    barrier();
#if !DIRECT
    if (k0 + tile_k4 < psc(k4)) {
      [[unroll]] for (uint i = 0; i < LOADS_A; i++) next_a[i] = fetch_a(l, i, m0, k0 + tile_k4);
      [[unroll]] for (uint i = 0; i < LOADS_B; i++) next_b[i] = fetch_b(l + i * THREADS, n0, k0 + tile_k4);
    }
#endif
    for (uint k = tz; k < tile_k4; k += Z) {
      afpvec4 b0 = lfp2afpvec4(b_local[(k * 4 + 0) * X + tx]);
      afpvec4 b1 = lfp2afpvec4(b_local[(k * 4 + 1) * X + tx]);
      afpvec4 b2 = lfp2afpvec4(b_local[(k * 4 + 2) * X + tx]);
      afpvec4 b3 = lfp2afpvec4(b_local[(k * 4 + 3) * X + tx]);
      [[unroll]] for (uint i = 0; i < TILE_M; i++) {
        afpvec4 a = lfp2afpvec4(a_local[k * STRIDE_A + i * Y + ty]);
        mac4(acc[i], a, b0, b1, b2, b3);
      }
    }
  }

  // One layer after the other, so that one layer's worth of memory is enough.
  for (uint layer = 1; layer < Z; layer++) {
    if (tz == layer) {
      [[unroll]] for (uint i = 0; i < TILE_M; i++) {
        sum_local[(i * Y + ty) * X + tx] = vec4(acc[i]);
      }
    }
    barrier();
    if (tz == 0) {
      [[unroll]] for (uint i = 0; i < TILE_M; i++) {
        acc[i] += acpvec4(sum_local[(i * Y + ty) * X + tx]);
      }
    }
    barrier();
  }
  uint n = n0 + tx;
  if (tz != 0 || n >= psc(n4)) return;

#if SCATTER
  uint tap = n / p.out4;
  uint channel = n - tap * p.out4;
  uint y = tap / p.kw;
  uint x = tap - y * p.kw;
#else
  uint channel = n;
#endif
  vec4 scale = scale_data[channel];
  vec4 bias = bias_data[channel];
  [[unroll]] for (uint i = 0; i < TILE_M; i++) {
    uint m = m0 + i * Y + ty;
    if (m < psc(rows)) {
#if SCATTER
      uint line = m / p.w;
      uint column = m - line * p.w;
      uint o = ((line * p.kh + y) * p.w * p.kw + column * p.kw + x) * p.out4 + channel;
#else
      uint o = m * psc(n4) + n;
#endif
      afpvec4 r = load_residual(residual_data, o);
      afpvec4 v = afpvec4(vec4(acc[i]) * scale + bias);
      tensor_st4(out_data, o, epilogue(v, r, p.e));
    }
  }
}
