#version 450
// SPDX-License-Identifier: Apache-2.0
// The gate of squeeze-and-excite: two fully connected layers on the mean of one picture, a
// workgroup for each picture. The mean comes as such (`rows` is 1), or is taken here: of all pixels,
// or of what mean_partial has added up. X invocations stand side by side on vectors of outputs, Y
// share the inputs of each. MAX_VECTORS bounds the input, the middle and, with SCALE, the output.
// SCALE 1: no gate comes out, but the picture, multiplied by it. Several workgroups take a picture, each
// the gate for itself: that is quicker than a step which waits for one that makes it.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "mac.glsl"
#include "epilogue.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
TENSOR_IN(1, residual_data);
layout(binding = 2) readonly buffer weight1_blob { sfpvec4 weight1_data[]; };
layout(binding = 3) readonly buffer scale1_blob { vec4 scale1_data[]; };
layout(binding = 4) readonly buffer bias1_blob { vec4 bias1_data[]; };
layout(binding = 5) readonly buffer weight2_blob { sfpvec4 weight2_data[]; };
layout(binding = 6) readonly buffer scale2_blob { vec4 scale2_data[]; };
layout(binding = 7) readonly buffer bias2_blob { vec4 bias2_data[]; };
TENSOR_OUT(8, out_data);
#if !SCALE
layout(binding = 9) readonly buffer sum_blob { vec4 sum_data[]; };  // of mean_partial
#endif

layout(constant_id = 2) const uint in4 = 0;
layout(constant_id = 3) const uint mid4 = 0;
layout(constant_id = 4) const uint out4 = 0;
#if SCALE
const uint source = 1;
#else
layout(constant_id = 5) const uint source = 0;  // 0 the mean, 1 pixels, 2 sums of mean_partial
#endif

layout(push_constant) uniform parameter {
  Epilogue e;
  Epilogue middle;  // made of lines only
#if SCALE
  Epilogue gate;  // the same; e is that of the product
#endif
  uint in4;
  uint mid4;
  uint out4;
  uint rows;     // of a picture, in the source
  float factor;  // 1 / pixels
} p;

const uint MAX_VECTORS = 256;

const uint X = gl_WorkGroupSize.x;
const uint Y = gl_WorkGroupSize.y;

shared lfpvec4 x_local[MAX_VECTORS];
shared lfpvec4 mid_local[MAX_VECTORS];
shared vec4 share_local[X * Y];

// One block of X vectors of outputs from `first` on: the sum over `inputs` vectors of `source`,
// complete in the invocations with y = 0.
#define LAYER(sum, source, weights, inputs, outputs, first)                    \
  {                                                                            \
    acpvec4 acc = acpvec4(0.0);                                                \
    uint o_ = min((first) + gl_LocalInvocationID.x, (outputs) - 1);            \
    for (uint i = gl_LocalInvocationID.y; i < (inputs); i += Y) {              \
      afpvec4 a = lfp2afpvec4(source[i]);                                      \
      uint b = i * 4 * (outputs) + o_;                                         \
      afpvec4 b0 = buffer_ld4(weights, b);                                     \
      afpvec4 b1 = buffer_ld4(weights, b + (outputs));                         \
      afpvec4 b2 = buffer_ld4(weights, b + (outputs) * 2);                     \
      afpvec4 b3 = buffer_ld4(weights, b + (outputs) * 3);                     \
      mac4(acc, a, b0, b1, b2, b3);                                            \
    }                                                                          \
    barrier();                                                                 \
    share_local[l] = vec4(acc);                                                \
    barrier();                                                                 \
    sum = share_local[gl_LocalInvocationID.x];                                 \
    for (uint i = 1; i < Y; i++) sum += share_local[i * X + gl_LocalInvocationID.x]; \
  }

#if SCALE
vec4 source_row(uint i) { return vec4(tensor_ld4(x_data, i)); }
#else
vec4 source_row(uint i) { return source == 2 ? sum_data[i] : vec4(tensor_ld4(x_data, i)); }
#endif

// Invocations stand side by side on the vectors of a row, what is left of them shares the rows.
void take_mean(uint picture, uint l) {
  uint base = picture * p.rows * psc(in4);
  for (uint first = 0; first < psc(in4); first += X * Y) {
    uint width = min(psc(in4) - first, X * Y);
    uint shares = X * Y / width;
    uint share = l / width;
    uint i = first + l - share * width;
    vec4 sum = vec4(0.0);
    if (share < shares) {
      uint row = share;
      for (; row + 3 * shares < p.rows; row += 4 * shares) {  // loads that overlap
        vec4 a = source_row(base + row * psc(in4) + i);
        vec4 b = source_row(base + (row + shares) * psc(in4) + i);
        vec4 c = source_row(base + (row + 2 * shares) * psc(in4) + i);
        vec4 d = source_row(base + (row + 3 * shares) * psc(in4) + i);
        sum += (a + b) + (c + d);
      }
      for (; row < p.rows; row += shares) sum += source_row(base + row * psc(in4) + i);
    }
    barrier();
    share_local[l] = sum;
    barrier();
    for (uint left = shares; left > 1;) {
      uint kept = (left + 1) / 2;
      if (share < left - kept) share_local[l] += share_local[l + kept * width];
      left = kept;
      barrier();
    }
    if (share == 0) x_local[i] = afp2lfpvec4(afpvec4(share_local[l] * p.factor));
  }
}

void main() {
#if SCALE
  uint picture = gl_WorkGroupID.y;
#else
  uint picture = gl_WorkGroupID.x;
#endif
  uint l = gl_LocalInvocationID.y * X + gl_LocalInvocationID.x;
  if (source != 0) {
    take_mean(picture, l);
  } else {
    for (uint i = l; i < psc(in4); i += X * Y) {
      x_local[i] = tensor_local4(x_data, picture * psc(in4) + i);
    }
  }
  barrier();
  for (uint first = 0; first < psc(mid4); first += X) {
    vec4 sum;
    LAYER(sum, x_local, weight1_data, psc(in4), psc(mid4), first)
    uint o = first + gl_LocalInvocationID.x;
    if (gl_LocalInvocationID.y == 0 && o < psc(mid4)) {
      afpvec4 v = afpvec4(sum * scale1_data[o] + bias1_data[o]);
      mid_local[o] = afp2lfpvec4(activate_lines(v, p.middle));
    }
  }
  barrier();
  for (uint first = 0; first < psc(out4); first += X) {
    vec4 sum;
    LAYER(sum, mid_local, weight2_data, psc(mid4), psc(out4), first)
    uint o = first + gl_LocalInvocationID.x;
    if (gl_LocalInvocationID.y == 0 && o < psc(out4)) {
      uint i = picture * psc(out4) + o;
      afpvec4 v = afpvec4(sum * scale2_data[o] + bias2_data[o]);
#if SCALE
      v = activate_lines(v, p.gate) * afp(p.gate.post_scale) + afp(p.gate.post_bias);
      x_local[o] = afp2lfpvec4(v);  // the mean is not needed any more
#else
      afpvec4 r = load_residual(residual_data, i);
      tensor_st4(out_data, i, epilogue(v, r, p.e));
#endif
    }
  }
#if SCALE
  barrier();
  uint vectors = p.rows * psc(out4);
  uint step = gl_NumWorkGroups.x * X * Y;
  for (uint j = gl_WorkGroupID.x * X * Y + l; j < vectors; j += step) {
    uint i = picture * vectors + j;
    afpvec4 v = tensor_ld4(x_data, i) * lfp2afpvec4(x_local[j % psc(out4)]);
    tensor_st4(out_data, i, epilogue(v, load_residual(residual_data, i), p.e));
  }
#endif
}
