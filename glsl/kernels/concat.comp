#version 450
// SPDX-License-Identifier: Apache-2.0
// Up to INPUTS tensors (8 or 4) one behind the other along the channels. One invocation a vector of
// the output: it fetches each lane from the input that the lane falls into, so that no two invocations
// write one vector even where channel counts are no multiples of four.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#ifndef INPUTS
#define INPUTS 8
#endif

#include "grid.glsl"
#include "epilogue.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x0_data);
TENSOR_IN(1, x1_data);
TENSOR_IN(2, x2_data);
TENSOR_IN(3, x3_data);
#if INPUTS > 4
TENSOR_IN(4, x4_data);
TENSOR_IN(5, x5_data);
TENSOR_IN(6, x6_data);
TENSOR_IN(7, x7_data);
#endif
TENSOR_IN(INPUTS, residual_data);
TENSOR_OUT(INPUTS + 1, out_data);

layout(constant_id = 2) const uint inputs = INPUTS;
layout(constant_id = 3) const uint aligned = 0;  // 1: all channel counts are multiples of four
layout(constant_id = 4) const uint count = 0;    // vectors of the output

layout(push_constant) uniform parameter {
  Epilogue e;
  uint count;
  uint end0;  // channel behind the last of input 0, and so on
  uint end1;
  uint end2;
  uint end3;
#if INPUTS > 4
  uint end4;
  uint end5;
  uint end6;
  uint end7;
#endif
} p;

#define FETCH(n, begin)                                                       \
  if (inputs > n && channel >= begin && channel < p.end##n) {                  \
    uint c = channel - begin;                                                 \
    v = tensor_ld4(x##n##_data, pixel * ((p.end##n - begin + 3) / 4) + c / 4); \
    lane = c % 4;                                                             \
  }

// The vector that holds the channel, and the channel's lane in it.
afpvec4 fetch(uint pixel, uint channel, out uint lane) {
  afpvec4 v = afpvec4(0.0);
  lane = 0;
  FETCH(0, 0u)
  FETCH(1, p.end0)
  FETCH(2, p.end1)
  FETCH(3, p.end2)
#if INPUTS > 4
  FETCH(4, p.end3)
  FETCH(5, p.end4)
  FETCH(6, p.end5)
  FETCH(7, p.end6)
#endif
  return v;
}

afp pick(afpvec4 v, uint lane) {
  return lane == 0 ? v.x : lane == 1 ? v.y : lane == 2 ? v.z : v.w;
}

void main() {
  uint i = grid_linear();
  if (i >= psc(count)) return;
  uint total = inputs == 1   ? p.end0
               : inputs == 2 ? p.end1
               : inputs == 3 ? p.end2
#if INPUTS > 4
               : inputs == 4 ? p.end3
               : inputs == 5 ? p.end4
               : inputs == 6 ? p.end5
               : inputs == 7 ? p.end6
                             : p.end7;
#else
                             : p.end3;
#endif
  uint c4 = (total + 3) / 4;
  uint pixel = i / c4;
  uint channel = (i - pixel * c4) * 4;
  uint lane;
  afpvec4 v = fetch(pixel, channel, lane);
  if (aligned == 0) {
    v.x = pick(v, lane);
    afpvec4 u = fetch(pixel, channel + 1, lane);
    v.y = pick(u, lane);
    u = fetch(pixel, channel + 2, lane);
    v.z = pick(u, lane);
    u = fetch(pixel, channel + 3, lane);
    v.w = pick(u, lane);
  }
  afpvec4 r = load_residual(residual_data, i);
  tensor_st4(out_data, i, epilogue(v, r, p.e));
}
