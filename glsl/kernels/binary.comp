#version 450
// SPDX-License-Identifier: Apache-2.0
// x op y. How y spreads over x is a constant, because the forms need different index arithmetic.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
#include "epilogue.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
TENSOR_IN(1, y_data);
TENSOR_IN(2, residual_data);
TENSOR_OUT(3, out_data);

// 0: y has x's shape; 1: N x 1 x 1 x C; 2: 1 x 1 x 1 x C; 3: N x H x W x 1
layout(constant_id = 2) const uint spread = 0;
layout(constant_id = 3) const uint count = 0;
layout(constant_id = 4) const uint c4 = 0;
layout(constant_id = 5) const uint hw = 0;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint count;
  uint c4;
  uint hw;
  uint op;  // 0 add, 1 sub, 2 mul, 3 div
} p;

void main() {
  uint i = grid_linear();
  if (i >= psc(count)) return;
  uint j = i;
  if (spread == 1) {
    uint pixel = i / psc(c4);
    j = i - pixel * psc(c4) + pixel / psc(hw) * psc(c4);
  } else if (spread == 2) {
    j = i % psc(c4);
  } else if (spread == 3) {
    j = i / psc(c4);
  }
  afpvec4 x = tensor_ld4(x_data, i);
  afpvec4 y = tensor_ld4(y_data, j);
  if (spread == 3) y = y.xxxx;
  afpvec4 v;
  if (p.op == 0) v = x + y;
  else if (p.op == 1) v = x - y;
  else if (p.op == 2) v = x * y;
  else v = x / y;
  afpvec4 r = load_residual(residual_data, i);
  tensor_st4(out_data, i, epilogue(v, r, p.e));
}
