// SPDX-License-Identifier: Apache-2.0
// Arithmetic types: what a kernel computes with.
#if NCNN_fp16_arithmetic
#define afp float16_t
#define afpvec2 f16vec2
#define afpvec4 f16vec4
#define afpvec8 f16mat2x4
#define afpmat4 f16mat4
#else
#define afp float
#define afpvec2 vec2
#define afpvec4 vec4
#define afpvec8 mat2x4
#define afpmat4 mat4
#endif
