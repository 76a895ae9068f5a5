#version 450
// SPDX-License-Identifier: Apache-2.0
// A transposed convolution to one channel whose stride is its window, straight to the caller's tight floats:
// one input pixel, and so kh x kw outputs, for each invocation. As a tensor, three lanes of four of the result
// would be padding. A workgroup's pixels lie one behind the other, and leave it through workgroup memory, so that
// neighbours write side by side. Sums are single precision.
// BYTES 1: to the caller's bytes (bytes_out.glsl). The width of the output and of what a workgroup makes of a line
// are multiples of four, so that no word is shared.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
#include "activation.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
layout(binding = 1) readonly buffer weight_blob { sfpvec4 weight_data[]; };
layout(binding = 2) readonly buffer scale_blob { vec4 scale_data[]; };
layout(binding = 3) readonly buffer bias_blob { vec4 bias_data[]; };
#if BYTES
#define BYTES_OUT 4
#include "bytes_out.glsl"
#else
layout(binding = 4) writeonly buffer out_blob { float out_data[]; };
#endif

layout(constant_id = 2) const uint in4 = 6;
layout(constant_id = 3) const uint kh = 2;
layout(constant_id = 4) const uint kw = 2;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint pixels;  // of the input
  uint w;
} p;

const uint TAPS = kh * kw;
const uint THREADS = gl_WorkGroupSize.x;

shared vec4 w_local[in4 * TAPS];         // [vector of inputs][tap]
shared float out_local[THREADS * (TAPS + 1)];  // [pixel][tap]

void main() {
  for (uint i = gl_LocalInvocationID.x; i < in4 * TAPS; i += THREADS) {
    uint k = i / TAPS;
    uint tap = i - k * TAPS;
    vec4 column;
    [[unroll]] for (uint c = 0; c < 4; c++) {
      column[c] = float(buffer_ld4(weight_data, (k * 4 + c) * TAPS + tap).x);
    }
    w_local[i] = column;
  }
  uint l = gl_LocalInvocationID.x;
  uint first = grid_linear() - l;
#if BYTES
  if (l == 0) not_finite_local = 0;
#endif
  barrier();

  float acc[TAPS];
  [[unroll]] for (uint tap = 0; tap < TAPS; tap++) acc[tap] = 0.0;
  for (uint k = 0; k < in4; k++) {
    vec4 x = vec4(tensor_ld4(x_data, min(first + l, p.pixels - 1) * in4 + k));
    [[unroll]] for (uint tap = 0; tap < TAPS; tap++) acc[tap] += dot(x, w_local[k * TAPS + tap]);
  }
  float scale = scale_data[0].x;
  float bias = bias_data[0].x;
  [[unroll]] for (uint tap = 0; tap < TAPS; tap++) {
    afpvec4 v = activate(afpvec4(acc[tap] * scale + bias), p.e);
    v = v * afp(p.e.post_scale) + afp(p.e.post_bias);
    out_local[l * (TAPS + 1) + tap] = float(v.x);
  }
  barrier();
#if BYTES
  [[unroll]] for (uint y = 0; y < kh; y++) {
    for (uint i = l * 4; i < THREADS * kw; i += THREADS * 4) {
      uint id = first + i / kw;
      if (id >= p.pixels) break;
      uint word = 0;
      [[unroll]] for (uint b = 0; b < 4; b++) {
        uint pixel = (i + b) / kw;
        uint x = i + b - pixel * kw;
        word |= byte_of(out_local[pixel * (TAPS + 1) + y * kw + x]) << (b * 8);
      }
      uint line = id / p.w;
      out_data[((line * (kh - 1) + y) * p.w * kw + first * kw + i) / 4] = word;
    }
  }
  barrier();
  if (l == 0) out_data[p.pixels * TAPS / 4 + first / THREADS] = not_finite_local;
#else
  [[unroll]] for (uint y = 0; y < kh; y++) {
    for (uint i = l; i < THREADS * kw; i += THREADS) {
      uint pixel = i / kw;
      uint x = i - pixel * kw;
      uint id = first + pixel;
      if (id >= p.pixels) break;
      uint line = id / p.w;
      out_data[(line * (kh - 1) + y) * p.w * kw + id * kw + x] =
          out_local[pixel * (TAPS + 1) + y * kw + x];
    }
  }
#endif
}
