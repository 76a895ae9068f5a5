#version 450
// SPDX-License-Identifier: Apache-2.0
// Maximum or average over a window; AVERAGE is 0 or 1. One workgroup row for each output line.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
#include "epilogue.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
TENSOR_IN(1, residual_data);
TENSOR_OUT(2, out_data);

layout(constant_id = 2) const uint h = 0;
layout(constant_id = 3) const uint w = 0;
layout(constant_id = 4) const uint c4 = 0;
layout(constant_id = 5) const uint outh = 0;
layout(constant_id = 6) const uint outw = 0;

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
  uint pad_bottom;
  uint pad_right;
  uint count_padding;  // AVERAGE: divide by the window inside the padded picture
} p;

void main() {
  uint line = grid_row();
  uint i = gl_GlobalInvocationID.x;
  if (i >= psc(outw) * psc(c4) || line >= p.n * psc(outh)) return;
  uint x = i / psc(c4);
  uint c = i - x * psc(c4);
  uint picture = line / psc(outh);
  uint y = line - picture * psc(outh);

  uint y0 = y * p.stride_h;  // in the padded picture
  uint x0 = x * p.stride_w;
  vec4 v = vec4(AVERAGE != 0 ? 0.0 : -3.0e38);
  uint found = 0;
  for (uint ky = 0; ky < p.kh; ky++) {
    uint iy = y0 + ky - p.pad_top;
    if (iy >= psc(h)) continue;
    for (uint kx = 0; kx < p.kw; kx++) {
      uint ix = x0 + kx - p.pad_left;
      if (ix >= psc(w)) continue;
      vec4 a = vec4(tensor_ld4(x_data, ((picture * psc(h) + iy) * psc(w) + ix) * psc(c4) + c));
#if AVERAGE
      v += a;
#else
      v = max(v, a);
#endif
      found++;
    }
  }
#if AVERAGE
  if (p.count_padding != 0) {
    uint bottom = min(y0 + p.kh, p.pad_top + psc(h) + p.pad_bottom);
    uint right = min(x0 + p.kw, p.pad_left + psc(w) + p.pad_right);
    found = (bottom - y0) * (right - x0);
  }
  v /= float(max(found, 1u));
#endif
  uint o = line * psc(outw) * psc(c4) + i;
  afpvec4 r = load_residual(residual_data, o);
  tensor_st4(out_data, o, epilogue(afpvec4(v), r, p.e));
}
