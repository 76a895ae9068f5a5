#version 450
// SPDX-License-Identifier: Apache-2.0
// An image of half the size, each pixel the mean of four. TEXTURE asks a sampler with a linear filter
// for the point between the four; else they are four reads of a buffer.

layout(local_size_x = 16, local_size_y = 16) in;
#if TEXTURE
layout(binding = 0) uniform sampler2D in_image;
#else
layout(binding = 0) readonly buffer in_blob { float in_data[]; };
#endif
layout(binding = 1) writeonly buffer out_blob { float out_data[]; };
layout(push_constant) uniform parameter { uint width; uint height; } p;  // of what is written

void main() {
  uint x = gl_GlobalInvocationID.x;
  uint y = gl_GlobalInvocationID.y;
  if (x >= p.width || y >= p.height) return;
#if TEXTURE
  vec2 at = (vec2(x, y) + 0.5) / vec2(p.width, p.height);
  float mean = textureLod(in_image, at, 0.0).x;
#else
  uint from = 4 * p.width * y + 2 * x;
  float mean = 0.25 * (in_data[from] + in_data[from + 1] + in_data[from + 2 * p.width] +
                       in_data[from + 2 * p.width + 1]);
#endif
  out_data[y * p.width + x] = mean;
}
