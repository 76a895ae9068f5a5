// SPDX-License-Identifier: Apache-2.0
// Local types: what workgroup memory holds. Two and eight lanes do not exist.
#if NCNN_fp16_storage && NCNN_fp16_arithmetic
#define lfp float16_t
#define lfpvec4 f16vec4
#elif NCNN_fp16_storage || NCNN_fp16_packed
#define lfp float
#define lfpvec4 uvec2
#else
#define lfp float
#define lfpvec4 vec4
#endif
