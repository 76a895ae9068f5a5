#version 450
// SPDX-License-Identifier: Apache-2.0
// Nearest neighbour by whole factors. One workgroup row for each output line.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
#include "epilogue.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
TENSOR_IN(1, residual_data);
TENSOR_OUT(2, out_data);

layout(constant_id = 2) const uint w = 0;
layout(constant_id = 3) const uint c4 = 0;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint w;      // of the input
  uint c4;
  uint lines;  // n * output height; the output's height is a multiple of the factor
  uint factor_h;
  uint factor_w;
} p;

void main() {
  uint line = grid_row();
  uint i = gl_GlobalInvocationID.x;
  uint width = psc(w) * p.factor_w * psc(c4);
  if (i >= width || line >= p.lines) return;
  uint x = i / psc(c4);
  uint c = i - x * psc(c4);
  uint source = (line / p.factor_h * psc(w) + x / p.factor_w) * psc(c4) + c;
  uint o = line * width + i;
  afpvec4 r = load_residual(residual_data, o);
  tensor_st4(out_data, o, epilogue(tensor_ld4(x_data, source), r, p.e));
}
