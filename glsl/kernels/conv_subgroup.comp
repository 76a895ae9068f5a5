#version 450
// SPDX-License-Identifier: Apache-2.0
// Matrix product and convolution for devices whose loads cost far more than their arithmetic: CPU
// drivers, which load lane by lane. A subgroup of LANES computes TILE_P pixels a lane times TILE_N
// vectors of output channels. Each lane loads its own pixels; the weights of a step, which all
// lanes need, are loaded once by the subgroup together and passed around by broadcast.
// No workgroup memory, no barrier. The subgroup size must be LANES and the local size a multiple.
//
// WINDOW 0: 1x1, stride 1. WINDOW 1: any kernel, stride, padding and dilation.
// SCATTER 1 (with WINDOW 0): a transposed convolution whose kernel equals its stride.

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require

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

layout(constant_id = 2) const uint rows = 0;  // output pixels; SCATTER: input pixels
layout(constant_id = 3) const uint in4 = 0;   // vectors of an input pixel
layout(constant_id = 4) const uint n4 = 0;    // columns in vectors

layout(push_constant) uniform parameter {
  Epilogue e;
  uint rows;
  uint in4;
  uint n4;
#if WINDOW
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

#define TILE_P 2
#define TILE_N 4
#define LANES 8

// Weights of one vector of input channels: 4 rows of TILE_N, LANES at a time.
#define WEIGHT_LOADS (4 * TILE_N / LANES)

// Half-precision values travel as bits: broadcasting them as such needs an extension more.
#if NCNN_fp16_arithmetic
#define wire uvec2
uvec2 to_wire(f16vec4 v) { return uvec2(packFloat2x16(v.xy), packFloat2x16(v.zw)); }
f16vec4 from_wire(uvec2 v) { return f16vec4(unpackFloat2x16(v.x), unpackFloat2x16(v.y)); }
#else
#define wire vec4
#define to_wire(v) v
#define from_wire(v) v
#endif

#define ONE_ROW(r, c, j)                                                                       \
  {                                                                                            \
    afpvec4 v =                                                                                \
        from_wire(subgroupBroadcast(b[(r * TILE_N + j) / LANES], (r * TILE_N + j) % LANES));   \
    for (uint t = 0; t < TILE_P; t++) mac(acc[t][j], a[t].c, v);                               \
  }
#define ONE_COLUMN(j) ONE_ROW(0, x, j) ONE_ROW(1, y, j) ONE_ROW(2, z, j) ONE_ROW(3, w, j)

void main() {
  uint lane = gl_SubgroupInvocationID;
  uint n0 = gl_WorkGroupID.x * TILE_N;
  uint m0 = (gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_WorkGroupSize.x *
                TILE_P + gl_LocalInvocationID.x;

  acpvec4 acc[TILE_P][TILE_N];
  uint pixel[TILE_P];  // own rows of A; beyond the last one, that one again
  for (uint t = 0; t < TILE_P; t++) {
    pixel[t] = min(m0 + t * gl_WorkGroupSize.x, psc(rows) - 1);
    for (uint j = 0; j < TILE_N; j++) acc[t][j] = acpvec4(0.0);
  }
  uint weight[WEIGHT_LOADS];
  for (uint i = 0; i < WEIGHT_LOADS; i++) {
    uint j = i * LANES + lane;
    weight[i] = j / TILE_N * psc(n4) + min(n0 + j % TILE_N, psc(n4) - 1);
  }

#if WINDOW
  uint picture[TILE_P];  // first line of the picture
  uint y[TILE_P];
  uint x[TILE_P];
  for (uint t = 0; t < TILE_P; t++) {
    uint line = pixel[t] / p.outw;
    x[t] = (pixel[t] - line * p.outw) * p.stride_w - p.pad_left;
    uint n = line / p.outh;
    y[t] = (line - n * p.outh) * p.stride_h - p.pad_top;
    picture[t] = n * p.h;
  }
  for (uint ky = 0; ky < p.kh; ky++) {
    for (uint kx = 0; kx < p.kw; kx++) {
      uint row[TILE_P];
      bool inside[TILE_P];
      for (uint t = 0; t < TILE_P; t++) {
        // Unsigned: left of and above the picture wrap around to large numbers.
        uint iy = y[t] + ky * p.dilation_h;
        uint ix = x[t] + kx * p.dilation_w;
        inside[t] = iy < p.h && ix < p.w;
        row[t] = inside[t] ? ((picture[t] + iy) * p.w + ix) * psc(in4) : 0;
      }
#else
  {
    {
      uint row[TILE_P];
      for (uint t = 0; t < TILE_P; t++) row[t] = pixel[t] * psc(in4);
#endif
      for (uint k = 0; k < psc(in4); k++) {
        afpvec4 a[TILE_P];
        for (uint t = 0; t < TILE_P; t++) {
          a[t] = tensor_ld4(x_data, row[t] + k);
#if WINDOW
          a[t] = inside[t] ? a[t] : afpvec4(0.0);
#endif
        }
        wire b[WEIGHT_LOADS];
        for (uint i = 0; i < WEIGHT_LOADS; i++) {
          b[i] = to_wire(buffer_ld4(weight_data, weight[i]));
          weight[i] += psc(n4) * 4;
        }
        ONE_COLUMN(0)
        ONE_COLUMN(1)
        ONE_COLUMN(2)
        ONE_COLUMN(3)
      }
    }
  }

  for (uint j = 0; j < TILE_N; j++) {
    uint n = n0 + j;
    if (n >= psc(n4)) break;
#if SCATTER
    uint tap = n / p.out4;
    uint channel = n - tap * p.out4;
    uint ty = tap / p.kw;
    uint tx = tap - ty * p.kw;
#else
    uint channel = n;
#endif
    vec4 scale = scale_data[channel];
    vec4 bias = bias_data[channel];
    for (uint t = 0; t < TILE_P; t++) {
      uint m = m0 + t * gl_WorkGroupSize.x;
      if (m < psc(rows)) {
#if SCATTER
        uint line = m / p.w;
        uint column = m - line * p.w;
        uint o = ((line * p.kh + ty) * p.w * p.kw + column * p.kw + tx) * p.out4 + channel;
#else
        uint o = m * psc(n4) + n;
#endif
        afpvec4 r = load_residual(residual_data, o);
        afpvec4 v = afpvec4(vec4(acc[t][j]) * scale + bias);
        tensor_st4(out_data, o, epilogue(v, r, p.e));
      }
    }
  }
}
