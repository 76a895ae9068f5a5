#version 450
// b = a * scale + add, on buffers or on images of the same texels.
layout(local_size_x_id = 233, local_size_y_id = 234) in;
layout(constant_id = 0) const float scale = 1.0;
layout(constant_id = 1) const uint add = 0;
layout(push_constant) uniform parameter { uint width, height; } p;
#if NCNN_image_shader
layout(binding = 0) uniform unfp sampler2D a;
layout(binding = 1, imfmtc4) writeonly uniform unfp image2D b;
#else
layout(binding = 0) readonly buffer A { sfpvec4 a[]; };
layout(binding = 1) writeonly buffer B { sfpvec4 b[]; };
#endif

void main() {
  const uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y;
  if (x >= p.width || y >= p.height) return;
#if NCNN_image_shader
  const afpvec4 v = image2d_ld4(a, ivec2(x, y));
  image2d_st4(b, ivec2(x, y), v * afp(scale) + afp(float(add)));
#else
  const afpvec4 v = buffer_ld4(a, y * p.width + x);
  buffer_st4(b, y * p.width + x, v * afp(scale) + afp(float(add)));
#endif
}
