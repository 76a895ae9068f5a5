#version 450
// SPDX-License-Identifier: Apache-2.0
// C[M][N] = A[M][K] * B[K][N], one tile of TILE_M pixels for each invocation, all in registers:
// no workgroup memory and no barrier.
// SCATTER: a transposed convolution whose kernel equals its stride. The columns are
// [kh][kw][output channels], and each goes to a pixel of its own.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
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
layout(constant_id = 3) const uint k4 = 0;    // vectors of an input pixel
layout(constant_id = 4) const uint n4 = 0;    // columns in vectors
layout(constant_id = 5) const uint out4 = 0;  // vectors of an output pixel

layout(push_constant) uniform parameter {
  Epilogue e;
  uint rows;
  uint k4;
  uint n4;
  uint out4;
  uint width;  // SCATTER: of the input
  uint kh;
  uint kw;
} p;

const uint TILE_M = 4;

uint out_index(uint m, uint n) {
#if SCATTER
  uint o = n % psc(out4);
  uint tap = n / psc(out4);
  uint y = tap / p.kw;
  uint x = tap - y * p.kw;
  uint line = m / p.width;  // picture * height + y
  uint column = m - line * p.width;
  return ((line * p.kh + y) * (p.width * p.kw) + column * p.kw + x) * psc(out4) + o;
#else
  return m * psc(n4) + n;
#endif
}

void main() {
  uint id = grid_linear();
  uint tile = id / psc(n4);
  uint n = id - tile * psc(n4);
  uint m0 = tile * TILE_M;
  if (m0 >= psc(rows)) return;

  uint row[TILE_M];
  acpvec4 acc[TILE_M];
  [[unroll]] for (uint t = 0; t < TILE_M; t++) {
    row[t] = min(m0 + t, psc(rows) - 1) * psc(k4);
    acc[t] = acpvec4(0.0);
  }
  uint b = n;
  for (uint k = 0; k < psc(k4); k++) {
    afpvec4 b0 = buffer_ld4(weight_data, b);
    afpvec4 b1 = buffer_ld4(weight_data, b + psc(n4));
    afpvec4 b2 = buffer_ld4(weight_data, b + psc(n4) * 2);
    afpvec4 b3 = buffer_ld4(weight_data, b + psc(n4) * 3);
    b += psc(n4) * 4;
    [[unroll]] for (uint t = 0; t < TILE_M; t++) {
      afpvec4 a = tensor_ld4(x_data, row[t] + k);
      mac4(acc[t], a, b0, b1, b2, b3);
    }
  }

  uint channel = n % psc(out4);
  vec4 scale = scale_data[channel];
  vec4 bias = bias_data[channel];
  [[unroll]] for (uint t = 0; t < TILE_M; t++) {
    if (m0 + t >= psc(rows)) continue;
    uint o = out_index(m0 + t, n);
    afpvec4 r = load_residual(residual_data, o);
    afpvec4 v = afpvec4(vec4(acc[t]) * scale + bias);
    tensor_st4(out_data, o, epilogue(v, r, p.e));
  }
}
