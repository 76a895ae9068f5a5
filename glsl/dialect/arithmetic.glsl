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

// Accumulators (an addition of ours): float in every variant unless the kernel's `acc` axis says
// afp. A sum over hundreds of products loses digits in fp16 that no epilogue brings back.
#if SPIRKILN_acc_afp
#define acp afp
#define acpvec4 afpvec4
#else
#define acp float
#define acpvec4 vec4
#endif
