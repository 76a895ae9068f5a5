#version 450
// SPDX-License-Identifier: Apache-2.0
// Dense convolution, any kernel, stride, padding and dilation: TILE_W outputs along a line and one
// vector of output channels for each invocation.

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

layout(constant_id = 2) const uint h = 0;
layout(constant_id = 3) const uint w = 0;
layout(constant_id = 4) const uint in4 = 0;
layout(constant_id = 5) const uint outh = 0;
layout(constant_id = 6) const uint outw = 0;
layout(constant_id = 7) const uint out4 = 0;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint n;
  uint h;
  uint w;
  uint in4;
  uint outh;
  uint outw;
  uint out4;
  uint kh;
  uint kw;
  uint stride_h;
  uint stride_w;
  uint pad_top;
  uint pad_left;
  uint dilation_h;
  uint dilation_w;
} p;

const uint TILE_W = 4;

void main() {
  uint id = grid_linear();
  uint rest = id / psc(out4);
  uint o = id - rest * psc(out4);
  uint tiles = (psc(outw) + TILE_W - 1) / TILE_W;
  uint line = rest / tiles;  // picture * outh + y
  uint x0 = (rest - line * tiles) * TILE_W;
  if (line >= p.n * psc(outh)) return;
  uint picture = line / psc(outh);
  uint y = line - picture * psc(outh);

  acpvec4 acc[TILE_W];
  [[unroll]] for (uint t = 0; t < TILE_W; t++) acc[t] = acpvec4(0.0);

  for (uint ky = 0; ky < p.kh; ky++) {
    // Unsigned: above the picture wraps around to a large number, which the bound refuses too.
    uint iy = y * p.stride_h + ky * p.dilation_h - p.pad_top;
    if (iy >= psc(h)) continue;
    uint in_line = (picture * psc(h) + iy) * psc(w);
    for (uint kx = 0; kx < p.kw; kx++) {
      uint pixel[TILE_W];
      bool inside[TILE_W];
      [[unroll]] for (uint t = 0; t < TILE_W; t++) {
        uint ix = (x0 + t) * p.stride_w + kx * p.dilation_w - p.pad_left;
        inside[t] = ix < psc(w);
        pixel[t] = (in_line + (inside[t] ? ix : 0)) * psc(in4);
      }
      uint b = (ky * p.kw + kx) * psc(in4) * 4 * psc(out4) + o;
      for (uint c = 0; c < psc(in4); c++) {
        afpvec4 b0 = buffer_ld4(weight_data, b);
        afpvec4 b1 = buffer_ld4(weight_data, b + psc(out4));
        afpvec4 b2 = buffer_ld4(weight_data, b + psc(out4) * 2);
        afpvec4 b3 = buffer_ld4(weight_data, b + psc(out4) * 3);
        b += psc(out4) * 4;
        [[unroll]] for (uint t = 0; t < TILE_W; t++) {
          afpvec4 a = tensor_ld4(x_data, pixel[t] + c);
          a = inside[t] ? a : afpvec4(0.0);
          mac4(acc[t], a, b0, b1, b2, b3);
        }
      }
    }
  }

  vec4 scale = scale_data[o];
  vec4 bias = bias_data[o];
  [[unroll]] for (uint t = 0; t < TILE_W; t++) {
    if (x0 + t >= psc(outw)) continue;
    uint i = (line * psc(outw) + x0 + t) * psc(out4) + o;
    afpvec4 r = load_residual(residual_data, i);
    afpvec4 v = afpvec4(vec4(acc[t]) * scale + bias);
    tensor_st4(out_data, i, epilogue(v, r, p.e));
  }
}
