// SPDX-License-Identifier: Apache-2.0
// Storage and local types of profile ncnn-2026.
//
// SPIRKILN_tight: scalars share a word with a neighbour, so storing one needs an atomic exchange.
#if NCNN_bf16_storage
#define sfp bfloat16_t
#define sfpvec2 bf16vec2
#define sfpvec4 bf16vec4
#define lfp bfloat16_t
#define lfpvec4 bf16vec4
#elif NCNN_bf16_packed
#if ncnn_storageBuffer16BitAccess
#define sfp uint16_t
#else
#define SPIRKILN_tight 1
#define sfp uint
#endif
#define sfpvec2 uint
#define sfpvec4 uvec2
#define lfp float
#define lfpvec4 uvec2
#elif NCNN_fp16_storage
#define sfp float16_t
#define sfpvec2 f16vec2
#define sfpvec4 f16vec4
#if NCNN_fp16_arithmetic
#define sfpmat4 f16mat4
#endif
#if NCNN_fp16_arithmetic && NCNN_fp16_uniform
#define lfp float16_t
#define lfpvec4 f16vec4
#else
// Two words and no 64-bit integer: no device lacks them.
#define lfp float
#define lfpvec4 uvec2
#endif
#elif NCNN_fp16_packed
#define SPIRKILN_tight 1
#define sfp uint
#define sfpvec2 uint
#define sfpvec4 uvec2
#define lfp float
#define lfpvec4 uvec2
#else
#define sfp float
#define sfpvec2 vec2
#define sfpvec4 vec4
#define sfpmat4 mat4
#define lfp float
#define lfpvec4 vec4
#endif
