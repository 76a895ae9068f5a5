#version 450
// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution, any kernel, stride, padding and dilation: tile_w outputs along a line of
// one vector of channels for each invocation; each weight is loaded once for the tile.
// LINE 1: so is what the tile needs of an input line. The kernel's width and its steps are constants
// for that, and so each is a pipeline of its own; the loads of a line overlap.

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
layout(constant_id = 4) const uint c4 = 0;
layout(constant_id = 5) const uint outh = 0;
layout(constant_id = 6) const uint outw = 0;
#if LINE
// These size an array, so they are constants and nothing else.
layout(constant_id = 7) const uint kw = 3;
layout(constant_id = 8) const uint stride_w = 1;
layout(constant_id = 9) const uint dilation_w = 1;
#endif
layout(constant_id = 10) const uint tile_w = 4;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint n;
  uint h;
  uint w;
  uint c4;
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
} p;

#if LINE
const uint SPAN = (tile_w - 1) * stride_w + (kw - 1) * dilation_w + 1;  // of an input line
#endif

void main() {
  uint id = grid_linear();
  uint rest = id / psc(c4);
  uint c = id - rest * psc(c4);
  uint tiles = (psc(outw) + tile_w - 1) / tile_w;
  uint line = rest / tiles;  // picture * outh + y
  uint x0 = (rest - line * tiles) * tile_w;
  if (line >= p.n * psc(outh)) return;
  uint picture = line / psc(outh);
  uint y = line - picture * psc(outh);

  acpvec4 acc[tile_w];
  [[unroll]] for (uint t = 0; t < tile_w; t++) acc[t] = acpvec4(0.0);

  for (uint ky = 0; ky < p.kh; ky++) {
    // Unsigned: above the picture wraps around to a large number, which the bound refuses too.
    uint iy = y * p.stride_h + ky * p.dilation_h - p.pad_top;
    if (iy >= psc(h)) continue;
    uint in_line = (picture * psc(h) + iy) * psc(w);
#if LINE
    afpvec4 a[SPAN];
    [[unroll]] for (uint i = 0; i < SPAN; i++) {
      uint ix = x0 * stride_w + i - p.pad_left;
      bool inside = ix < psc(w);
      a[i] = tensor_ld4(x_data, (in_line + (inside ? ix : 0)) * psc(c4) + c);
      a[i] = inside ? a[i] : afpvec4(0.0);
    }
    [[unroll]] for (uint kx = 0; kx < kw; kx++) {
      afpvec4 b = buffer_ld4(weight_data, (ky * kw + kx) * psc(c4) + c);
      [[unroll]] for (uint t = 0; t < tile_w; t++) {
        mac(acc[t], a[t * stride_w + kx * dilation_w], b);
      }
    }
#else
    for (uint kx = 0; kx < p.kw; kx++) {
      afpvec4 b = buffer_ld4(weight_data, (ky * p.kw + kx) * psc(c4) + c);
      [[unroll]] for (uint t = 0; t < tile_w; t++) {
        uint ix = (x0 + t) * p.stride_w + kx * p.dilation_w - p.pad_left;
        if (ix < psc(w)) {
          afpvec4 a = tensor_ld4(x_data, (in_line + ix) * psc(c4) + c);
          mac(acc[t], a, b);
        }
      }
    }
#endif
  }

  vec4 scale = scale_data[c];
  vec4 bias = bias_data[c];
  [[unroll]] for (uint t = 0; t < tile_w; t++) {
    if (x0 + t >= psc(outw)) continue;
    uint i = (line * psc(outw) + x0 + t) * psc(c4) + c;
    afpvec4 r = load_residual(residual_data, i);
    afpvec4 v = afpvec4(vec4(acc[t]) * scale + bias);
    tensor_st4(out_data, i, epilogue(v, r, p.e));
  }
}
