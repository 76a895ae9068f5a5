#version 450
// SPDX-License-Identifier: Apache-2.0
// A picture behind a sampler with YCbCr conversion, to planes of red, green and blue (or blue,
// green and red, or grey, or with a plane of 255 behind) with values from 0 to 255, turned as its
// Exif orientation says. One invocation a pixel of the destination.
layout(binding = 0) uniform sampler2D picture;
layout(binding = 1) writeonly buffer top_blob { sfp top_blob_data[]; };

// 1 red green blue, 2 blue green red, 3 grey, 4 red green blue 255, 5 blue green red 255
layout(constant_id = 0) const int type_to = 0;
layout(constant_id = 1) const int orientation = 0;  // 1 to 8; 0 as 1
layout(constant_id = 2) const int width = 0;        // of the source
layout(constant_id = 3) const int height = 0;
layout(constant_id = 4) const int outw = 0;
layout(constant_id = 5) const int outh = 0;
layout(constant_id = 6) const int outcstep = 0;     // values from one plane to the next

layout(push_constant) uniform parameter {
  int width;
  int height;
  int outw;
  int outh;
  int outcstep;
} p;

void main() {
  int x = int(gl_GlobalInvocationID.x);
  int y = int(gl_GlobalInvocationID.y);
  if (x >= psc(outw) || y >= psc(outh)) return;

  // From here to the source: 5 to 8 swap the axes.
  int w = psc(width) - 1;
  int h = psc(height) - 1;
  int sx = orientation >= 5 ? y : x;
  int sy = orientation >= 5 ? x : y;
  if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8) sx = w - sx;
  if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) sy = h - sy;

  // Only the middle of a texel gives its own value under a conversion.
  vec2 at = (vec2(sx, sy) + 0.5) / vec2(w + 1, h + 1);
  vec3 rgb = clamp(textureLod(picture, at, 0.0).rgb, vec3(0.0), vec3(1.0)) * 255.0;

  int i = y * psc(outw) + x;
  if (type_to == 3) {
    buffer_st1(top_blob_data, i, afp(dot(rgb, vec3(0.299, 0.587, 0.114))));
    return;
  }
  if (type_to == 2 || type_to == 5) rgb = rgb.bgr;
  buffer_st1(top_blob_data, i, afp(rgb.r));
  buffer_st1(top_blob_data, i + psc(outcstep), afp(rgb.g));
  buffer_st1(top_blob_data, i + psc(outcstep) * 2, afp(rgb.b));
  if (type_to >= 4) buffer_st1(top_blob_data, i + psc(outcstep) * 3, afp(255.0));
}
