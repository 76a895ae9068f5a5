// SPDX-License-Identifier: Apache-2.0
// Activations: a buffer of vectors, or in image variants a 2D image of them. Both are indexed with
// the number of the vector, so that one source serves both.
//
//   TENSOR_IN(0, x_data);             layout(binding = 0), read
//   TENSOR_OUT(2, out_data);          layout(binding = 2), written
//   tensor_ld4(x_data, i)             vector i as afpvec4
//   tensor_local4(x_data, i)          vector i as lfpvec4
//   tensor_st4(out_data, i, v)        v into vector i
//
// Macros, because GLSL passes no buffer to a function and an image's format is part of its type.
#if NCNN_image_shader
// An image has 2^TENSOR_ROW_BITS texels a row (fewer where all of the tensor fits into one), the
// vectors one behind the other: TENSOR_ROW_BITS of runtime/graph/tensor_image.hpp is the same.
#define TENSOR_ROW_BITS 11
ivec2 tensor_at(uint i) {
  return ivec2(i & ((1u << TENSOR_ROW_BITS) - 1u), i >> TENSOR_ROW_BITS);
}
#define TENSOR_IN(n, name) layout(binding = n) uniform unfp sampler2D name
// For kernels that look at the bits of what they read: of a value of mediump that is undefined, and NVIDIA's
// driver 580.159 then refuses the pipeline.
#define TENSOR_IN_BITS(n, name) layout(binding = n) uniform highp sampler2D name
#define TENSOR_OUT(n, name) layout(binding = n, imfmtc4) writeonly uniform unfp image2D name
// A device may cut what it narrows for an image (an H200 and lavapipe do), and errors that all point
// towards zero add up over a graph: recognition took another character in one step of 24. So values
// are rounded to nearest, ties to even, before; with fp16 arithmetic they are halves already. On the
// bits, because drivers see through unpackHalf2x16(packHalf2x16()).
#if (NCNN_fp16_packed || NCNN_fp16_storage) && !NCNN_fp16_arithmetic
vec4 tensor_texel(vec4 v) {
  uvec4 bits = floatBitsToUint(v);
  vec4 normal = uintBitsToFloat((bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu);
  // Below 2^-14 a half's step is 2^-24, which is also that of floats from 0.5 to 1.
  precise vec4 moved = v + 0.75;
  precise vec4 small = moved - 0.75;
  return mix(normal, small, lessThan(abs(v), vec4(6.103515625e-5)));
}
#else
afpvec4 tensor_texel(afpvec4 v) { return v; }
#endif
#define tensor_ld4(name, i) image2d_ld4(name, tensor_at(i))
#define tensor_local4(name, i) afp2lfpvec4(image2d_ld4(name, tensor_at(i)))
#define tensor_st4(name, i, v) image2d_st4(name, tensor_at(i), tensor_texel(v))
#else
#define TENSOR_IN(n, name) \
  layout(binding = n) readonly buffer name##_blob { sfpvec4 name[]; }
#define TENSOR_IN_BITS TENSOR_IN
#define TENSOR_OUT(n, name) \
  layout(binding = n) writeonly buffer name##_blob { sfpvec4 name[]; }
#define tensor_ld4(name, i) buffer_ld4(name, i)
#define tensor_local4(name, i) sfp2lfpvec4(name[i])
#define tensor_st4(name, i, v) buffer_st4(name, i, v)
#endif
