// SPDX-License-Identifier: Apache-2.0
// Conversions of profile ncnn-2026. See ../convert.glsl for what is a function and what is not.

#if NCNN_bf16_storage || NCNN_bf16_packed
// To the nearest of 8 significant bits, ties to even; a NaN stays one.
uint spk_bf16(float v) {
  uint bits = floatBitsToUint(v);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (bits >> 16) | 0x40u;
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}
vec2 unpackBFloat2x16(uint v) {
  return vec2(uintBitsToFloat(v << 16), uintBitsToFloat(v & 0xffff0000u));
}
uint packBFloat2x16(vec2 v) { return spk_bf16(v.x) | (spk_bf16(v.y) << 16); }
#endif

#if NCNN_bf16_storage

float spk_afp(float v) { return v; }
vec2 spk_afpvec2(vec2 v) { return v; }
vec4 spk_afpvec4(vec4 v) { return v; }
#define sfp2afp(v) float(v)
#define sfp2afpvec2(v) vec2(v)
#define sfp2afpvec4(v) vec4(v)
#define afp2sfp(v) bfloat16_t(spk_afp(v))
#define afp2sfpvec2(v) bf16vec2(spk_afpvec2(v))
#define afp2sfpvec4(v) bf16vec4(spk_afpvec4(v))
#define spk_sm1(v) v
#define spk_sm4(v) v
#define lfp2afp(v) float(v)
#define lfp2afpvec4(v) vec4(v)
#define afp2lfp(v) bfloat16_t(spk_afp(v))
#define afp2lfpvec4(v) bf16vec4(spk_afpvec4(v))

#elif NCNN_bf16_packed || (NCNN_fp16_packed && !NCNN_fp16_arithmetic)

#if NCNN_bf16_packed
#define spk_pack2 packBFloat2x16
#define spk_unpack2 unpackBFloat2x16
#else
#define spk_pack2 packHalf2x16
#define spk_unpack2 unpackHalf2x16
#endif
uint spk_encode(float v) { return spk_pack2(vec2(v, 0.0)) & 0xffffu; }
float spk_decode(uint bits) { return spk_unpack2(bits).x; }
vec2 sfp2afpvec2(uint v) { return spk_unpack2(v); }
vec4 sfp2afpvec4(uvec2 v) { return vec4(spk_unpack2(v.x), spk_unpack2(v.y)); }
uint afp2sfpvec2(vec2 v) { return spk_pack2(v); }
uvec2 afp2sfpvec4(vec4 v) { return uvec2(spk_pack2(v.xy), spk_pack2(v.zw)); }
#if !SPIRKILN_tight
#define sfp2afp(v) spk_decode(uint(v))
#define afp2sfp(v) uint16_t(spk_encode(v))
#define spk_sm1(v) sfp2afp(v)
#endif
uvec2 spk_sm4(uvec2 v) { return v; }
float lfp2afp(float v) { return v; }
vec4 lfp2afpvec4(uvec2 v) { return sfp2afpvec4(v); }
float afp2lfp(float v) { return v; }
uvec2 afp2lfpvec4(vec4 v) { return afp2sfpvec4(v); }

#elif NCNN_fp16_packed

uint spk_encode(float16_t v) { return packFloat2x16(f16vec2(v, float16_t(0.0))) & 0xffffu; }
uint spk_encode(float v) { return packHalf2x16(vec2(v, 0.0)) & 0xffffu; }
float16_t spk_decode(uint bits) { return unpackFloat2x16(bits).x; }
f16vec2 sfp2afpvec2(uint v) { return unpackFloat2x16(v); }
f16vec4 sfp2afpvec4(uvec2 v) { return f16vec4(unpackFloat2x16(v.x), unpackFloat2x16(v.y)); }
uint afp2sfpvec2(f16vec2 v) { return packFloat2x16(v); }
uint afp2sfpvec2(vec2 v) { return packHalf2x16(v); }
uvec2 afp2sfpvec4(f16vec4 v) { return uvec2(packFloat2x16(v.xy), packFloat2x16(v.zw)); }
uvec2 afp2sfpvec4(vec4 v) { return uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw)); }
uvec2 spk_sm4(uvec2 v) { return v; }
float16_t lfp2afp(float v) { return float16_t(v); }
f16vec4 lfp2afpvec4(uvec2 v) { return sfp2afpvec4(v); }
float afp2lfp(float v) { return v; }
uvec2 afp2lfpvec4(f16vec4 v) { return afp2sfpvec4(v); }

#elif NCNN_fp16_storage && NCNN_fp16_arithmetic

float16_t sfp2afp(float16_t v) { return v; }
f16vec2 sfp2afpvec2(f16vec2 v) { return v; }
f16vec4 sfp2afpvec4(f16vec4 v) { return v; }
f16mat4 sfp2afpmat4(f16mat4 v) { return v; }
float16_t afp2sfp(float16_t v) { return v; }
float16_t afp2sfp(float v) { return float16_t(v); }
f16vec2 afp2sfpvec2(f16vec2 v) { return v; }
f16vec2 afp2sfpvec2(vec2 v) { return f16vec2(v); }
f16vec4 afp2sfpvec4(f16vec4 v) { return v; }
f16vec4 afp2sfpvec4(vec4 v) { return f16vec4(v); }
f16mat4 afp2sfpmat4(f16mat4 v) { return v; }
#if NCNN_fp16_uniform
float16_t spk_sm1(float16_t v) { return v; }
f16vec4 spk_sm4(f16vec4 v) { return v; }
float16_t lfp2afp(float16_t v) { return v; }
f16vec4 lfp2afpvec4(f16vec4 v) { return v; }
float16_t afp2lfp(float16_t v) { return v; }
f16vec4 afp2lfpvec4(f16vec4 v) { return v; }
#else
float spk_sm1(float16_t v) { return float(v); }
uvec2 spk_sm4(f16vec4 v) { return uvec2(packFloat2x16(v.xy), packFloat2x16(v.zw)); }
float16_t lfp2afp(float v) { return float16_t(v); }
f16vec4 lfp2afpvec4(uvec2 v) { return f16vec4(unpackFloat2x16(v.x), unpackFloat2x16(v.y)); }
float afp2lfp(float v) { return v; }
uvec2 afp2lfpvec4(f16vec4 v) { return spk_sm4(v); }
#endif

#elif NCNN_fp16_storage

uvec2 spk_pack4(vec4 v) { return uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw)); }
float spk_afp(float v) { return v; }
vec2 spk_afpvec2(vec2 v) { return v; }
vec4 spk_afpvec4(vec4 v) { return v; }
// As in ../convert.glsl.
#define sfp2afp(v) vec2(v, 0.0).x
#define sfp2afpvec2(v) vec4(v, 0.0, 0.0).xy
#define sfp2afpvec4(v) mat2x4(v, 0.0, 0.0, 0.0, 0.0)[0]
#define afp2sfp(v) float16_t(spk_afp(v))
#define afp2sfpvec2(v) f16vec2(spk_afpvec2(v))
#define afp2sfpvec4(v) f16vec4(spk_afpvec4(v))
#define spk_sm1(v) sfp2afp(v)
#define spk_sm4(v) spk_pack4(sfp2afpvec4(v))
float lfp2afp(float v) { return v; }
vec4 lfp2afpvec4(uvec2 v) { return vec4(unpackHalf2x16(v.x), unpackHalf2x16(v.y)); }
float afp2lfp(float v) { return v; }
uvec2 afp2lfpvec4(vec4 v) { return spk_pack4(v); }

#else

float sfp2afp(float v) { return v; }
vec2 sfp2afpvec2(vec2 v) { return v; }
vec4 sfp2afpvec4(vec4 v) { return v; }
mat4 sfp2afpmat4(mat4 v) { return v; }
float afp2sfp(float v) { return v; }
vec2 afp2sfpvec2(vec2 v) { return v; }
vec4 afp2sfpvec4(vec4 v) { return v; }
mat4 afp2sfpmat4(mat4 v) { return v; }
float spk_sm1(float v) { return v; }
vec4 spk_sm4(vec4 v) { return v; }
float lfp2afp(float v) { return v; }
vec4 lfp2afpvec4(vec4 v) { return v; }
float afp2lfp(float v) { return v; }
vec4 afp2lfpvec4(vec4 v) { return v; }

#endif
