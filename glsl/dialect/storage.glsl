// SPDX-License-Identifier: Apache-2.0
// Storage types: what a buffer holds. GLSL has no type alias, so these names stay macros.
#if NCNN_fp16_storage && NCNN_fp16_arithmetic
#define sfp float16_t
#define sfpvec2 f16vec2
#define sfpvec4 f16vec4
#define sfpvec8 f16mat2x4
#define sfpmat4 f16mat4
#elif NCNN_fp16_storage
// An fp16 matrix needs fp16 arithmetic, so eight lanes are two vectors here.
struct sfpvec8 {
  f16vec4 abcd;
  f16vec4 efgh;
};
#define sfp float16_t
#define sfpvec2 f16vec2
#define sfpvec4 f16vec4
#elif NCNN_fp16_packed
#define sfp float
#define sfpvec2 uint
#define sfpvec4 uvec2
#define sfpvec8 uvec4
#else
#define sfp float
#define sfpvec2 vec2
#define sfpvec4 vec4
#define sfpvec8 mat2x4
#define sfpmat4 mat4
#endif

// Of an image's texels, and of the numbers read from it.
#if NCNN_fp16_storage
#define imfmtc1 r16f
#define imfmtc4 rgba16f
#define unfp mediump
#elif NCNN_fp16_packed
#define imfmtc1 r32f
#define imfmtc4 rgba16f
#define unfp mediump
#else
#define imfmtc1 r32f
#define imfmtc4 rgba32f
#define unfp highp
#endif
