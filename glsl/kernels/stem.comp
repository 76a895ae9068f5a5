#version 450
// SPDX-License-Identifier: Apache-2.0
// The first convolution of a graph, straight from the picture's bytes (B, G, R, validity: four a pixel):
// the input tensor is never stored. Outside of the picture, and where validity is 0, the input is 0.
// One output pixel for each invocation, which holds what it sees of the picture and goes over the vectors of
// channels; the window is made of constants for that. (Several pixels share what they see, but 4 take 23.2 us on
// an H200 where 1 takes 17.8, at 960 x 960.) A workgroup shares the weights, and its pixels lie one behind the
// other, so that together they leave it in order. Single precision throughout.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
#include "activation.glsl"
#include "tensor.glsl"

layout(binding = 0) readonly buffer pixel_blob { uint pixels[]; };
layout(binding = 1) readonly buffer weight_blob { sfpvec4 weight_data[]; };
layout(binding = 2) readonly buffer scale_blob { vec4 scale_data[]; };
layout(binding = 3) readonly buffer bias_blob { vec4 bias_data[]; };
TENSOR_OUT(4, out_data);

layout(constant_id = 2) const uint kh = 3;
layout(constant_id = 3) const uint kw = 3;
layout(constant_id = 4) const uint n4 = 4;

layout(push_constant) uniform parameter {
  Epilogue e;
  vec4 scale;  // of the bytes
  vec4 shift;
  uint count;  // pixels of the output
  uint h;
  uint w;
  uint outh;
  uint outw;
  uint stride_h;
  uint stride_w;
  uint pad_top;
  uint pad_left;
} p;

const uint WEIGHTS = kh * kw * 3 * n4;
const uint THREADS = gl_WorkGroupSize.x;

const uint STRIDE = n4 + 1 - n4 % 2;  // an odd number of vectors spreads the pixels over the banks

shared vec4 w_local[WEIGHTS];           // [tap][colour][column]
shared lfpvec4 out_local[THREADS * STRIDE];  // [pixel][column]

void main() {
  for (uint i = gl_LocalInvocationID.x; i < kh * kw * 4 * n4; i += THREADS) {
    uint tap = i / (4 * n4);
    vec4 w = vec4(buffer_ld4(weight_data, i));
    if (i < (tap * 4 + 3) * n4) w_local[i - tap * n4] = w;  // a picture has no fourth colour
  }
  barrier();

  uint id = grid_linear();
  uint first = id - gl_LocalInvocationID.x;
  uint line = id / p.outw;
  uint x0 = (id - line * p.outw) * p.stride_w - p.pad_left;
  uint picture = line / p.outh;
  uint y0 = (line - picture * p.outh) * p.stride_h - p.pad_top;

  vec3 seen[kh * kw];
  [[unroll]] for (uint ky = 0; ky < kh; ky++) {
    [[unroll]] for (uint kx = 0; kx < kw; kx++) {
      // Unsigned: left of and above the picture wrap around to large numbers.
      uint y = y0 + ky;
      uint x = x0 + kx;
      bool inside = id < p.count && y < p.h && x < p.w;
      uint bytes = pixels[inside ? (picture * p.h + y) * p.w + x : 0];
      vec3 colours = vec3((uvec3(bytes) >> uvec3(0, 8, 16)) & 255u);
      bool valid = inside && bytes >> 24 != 0;
      seen[ky * kw + kx] = valid ? colours * p.scale.xyz + p.shift.xyz : vec3(0.0);
    }
  }

  for (uint n = 0; n < n4; n++) {
    vec4 acc = vec4(0.0);
    [[unroll]] for (uint tap = 0; tap < kh * kw; tap++) {
      [[unroll]] for (uint c = 0; c < 3; c++) {
        acc = fma(vec4(seen[tap][c]), w_local[(tap * 3 + c) * n4 + n], acc);
      }
    }
    afpvec4 v = activate(afpvec4(acc * scale_data[n] + bias_data[n]), p.e);
    v = v * afp(p.e.post_scale) + afp(p.e.post_bias);
    out_local[gl_LocalInvocationID.x * STRIDE + n] = afp2lfpvec4(v);
  }
  barrier();
  for (uint i = gl_LocalInvocationID.x; i < THREADS * n4; i += THREADS) {
    uint pixel = i / n4;
    if (first + pixel >= p.count) break;
    tensor_st4(out_data, first * n4 + i, lfp2afpvec4(out_local[pixel * STRIDE + i - pixel * n4]));
  }
}
