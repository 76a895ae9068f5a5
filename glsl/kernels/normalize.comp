#version 450
// SPDX-License-Identifier: Apache-2.0
// Picture bytes (B, G, R, validity: four a pixel) to the input tensor. NCNN_int8_storage: read as
// bytes; else as one uint a pixel.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "grid.glsl"
#include "tensor.glsl"

#if NCNN_int8_storage
layout(binding = 0) readonly buffer pixel_blob { u8vec4 pixels[]; };
uvec4 pixel(uint i) { return uvec4(pixels[i]); }
#else
layout(binding = 0) readonly buffer pixel_blob { uint pixels[]; };
uvec4 pixel(uint i) { return (uvec4(pixels[i]) >> uvec4(0, 8, 16, 24)) & 255u; }
#endif
TENSOR_OUT(1, out_data);

layout(constant_id = 0) const uint count = 0;

layout(push_constant) uniform parameter {
  vec4 scale;
  vec4 shift;
  uint count;
} p;

void main() {
  uint i = grid_linear();
  if (i >= psc(count)) return;
  uvec4 b = pixel(i);
  vec4 v = b.w != 0 ? vec4(b) * p.scale + p.shift : vec4(0.0);
  tensor_st4(out_data, i, afpvec4(vec4(v.xyz, 0.0)));
}
