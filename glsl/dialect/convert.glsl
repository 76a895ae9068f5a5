// SPDX-License-Identifier: Apache-2.0
// Conversions between storage (sfp), arithmetic (afp) and local (lfp) values.
//
// Functions wherever the types may be passed to one, so that arguments are evaluated once and a
// wrong type is an error at the kernel's own line. A 16-bit value without 16-bit arithmetic may
// only be loaded, converted and stored; there a constructor around the one use stands instead.

#if NCNN_fp16_storage && NCNN_fp16_arithmetic

float16_t sfp2afp(float16_t v) { return v; }
f16vec2 sfp2afpvec2(f16vec2 v) { return v; }
f16vec4 sfp2afpvec4(f16vec4 v) { return v; }
f16mat2x4 sfp2afpvec8(f16mat2x4 v) { return v; }
float16_t afp2sfp(float16_t v) { return v; }
f16vec2 afp2sfpvec2(f16vec2 v) { return v; }
f16vec4 afp2sfpvec4(f16vec4 v) { return v; }
f16mat2x4 afp2sfpvec8(f16mat2x4 v) { return v; }
float16_t sfp2lfp(float16_t v) { return v; }
f16vec4 sfp2lfpvec4(f16vec4 v) { return v; }
float16_t lfp2afp(float16_t v) { return v; }
f16vec4 lfp2afpvec4(f16vec4 v) { return v; }
float16_t afp2lfp(float16_t v) { return v; }
f16vec4 afp2lfpvec4(f16vec4 v) { return v; }
f16mat4 sfp2afpmat4(f16mat4 v) { return v; }
f16mat4 afp2sfpmat4(f16mat4 v) { return v; }
// A value of full precision is rounded once.
float16_t afp2sfp(float v) { return float16_t(v); }
f16vec2 afp2sfpvec2(vec2 v) { return f16vec2(v); }
f16vec4 afp2sfpvec4(vec4 v) { return f16vec4(v); }

#elif NCNN_fp16_storage

uvec2 spk_pack4(vec4 v) { return uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw)); }
vec4 spk_unpack4(uvec2 v) { return vec4(unpackHalf2x16(v.x), unpackHalf2x16(v.y)); }
// Identity that only accepts the arithmetic type, as in the other variants.
float spk_afp(float v) { return v; }
vec2 spk_afpvec2(vec2 v) { return v; }
vec4 spk_afpvec4(vec4 v) { return v; }

// A constructor of one value takes other sizes too. With zeros behind it that fill a larger type,
// fewer lanes are not enough and more leave no room. The optimiser leaves the conversion.
#define sfp2afp(v) vec2(v, 0.0).x
#define sfp2afpvec2(v) vec4(v, 0.0, 0.0).xy
#define sfp2afpvec4(v) mat2x4(v, 0.0, 0.0, 0.0, 0.0)[0]
#define afp2sfp(v) float16_t(spk_afp(v))
#define afp2sfpvec2(v) f16vec2(spk_afpvec2(v))
#define afp2sfpvec4(v) f16vec4(spk_afpvec4(v))
#define sfp2lfp(v) sfp2afp(v)
#define sfp2lfpvec4(v) spk_pack4(sfp2afpvec4(v))
float lfp2afp(float v) { return v; }
vec4 lfp2afpvec4(uvec2 v) { return spk_unpack4(v); }
float afp2lfp(float v) { return v; }
uvec2 afp2lfpvec4(vec4 v) { return spk_pack4(v); }

#elif NCNN_fp16_packed

uvec2 spk_pack4(vec4 v) { return uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw)); }
vec4 spk_unpack4(uvec2 v) { return vec4(unpackHalf2x16(v.x), unpackHalf2x16(v.y)); }

#if NCNN_fp16_arithmetic
float16_t sfp2afp(float v) { return float16_t(v); }
f16vec2 sfp2afpvec2(uint v) { return unpackFloat2x16(v); }
f16vec4 sfp2afpvec4(uvec2 v) { return f16vec4(unpackFloat2x16(v.x), unpackFloat2x16(v.y)); }
float afp2sfp(float16_t v) { return float(v); }
uint afp2sfpvec2(f16vec2 v) { return packFloat2x16(v); }
uvec2 afp2sfpvec4(f16vec4 v) { return uvec2(packFloat2x16(v.xy), packFloat2x16(v.zw)); }
// A value of full precision is stored as the buffer holds it.
float afp2sfp(float v) { return v; }
uint afp2sfpvec2(vec2 v) { return packHalf2x16(v); }
uvec2 afp2sfpvec4(vec4 v) { return spk_pack4(v); }
#else
float sfp2afp(float v) { return v; }
vec2 sfp2afpvec2(uint v) { return unpackHalf2x16(v); }
vec4 sfp2afpvec4(uvec2 v) { return spk_unpack4(v); }
float afp2sfp(float v) { return v; }
uint afp2sfpvec2(vec2 v) { return packHalf2x16(v); }
uvec2 afp2sfpvec4(vec4 v) { return spk_pack4(v); }
#endif
afpvec8 sfp2afpvec8(uvec4 v) { return afpvec8(sfp2afpvec4(v.xy), sfp2afpvec4(v.zw)); }
uvec4 afp2sfpvec8(afpvec8 v) { return uvec4(afp2sfpvec4(v[0]), afp2sfpvec4(v[1])); }
float sfp2lfp(float v) { return v; }
uvec2 sfp2lfpvec4(uvec2 v) { return v; }
afp lfp2afp(float v) { return sfp2afp(v); }
afpvec4 lfp2afpvec4(uvec2 v) { return sfp2afpvec4(v); }
float afp2lfp(afp v) { return afp2sfp(v); }
uvec2 afp2lfpvec4(afpvec4 v) { return afp2sfpvec4(v); }

#else

float sfp2afp(float v) { return v; }
vec2 sfp2afpvec2(vec2 v) { return v; }
vec4 sfp2afpvec4(vec4 v) { return v; }
mat2x4 sfp2afpvec8(mat2x4 v) { return v; }
float afp2sfp(float v) { return v; }
vec2 afp2sfpvec2(vec2 v) { return v; }
vec4 afp2sfpvec4(vec4 v) { return v; }
mat2x4 afp2sfpvec8(mat2x4 v) { return v; }
float sfp2lfp(float v) { return v; }
vec4 sfp2lfpvec4(vec4 v) { return v; }
float lfp2afp(float v) { return v; }
vec4 lfp2afpvec4(vec4 v) { return v; }
float afp2lfp(float v) { return v; }
vec4 afp2lfpvec4(vec4 v) { return v; }
mat4 sfp2afpmat4(mat4 v) { return v; }
mat4 afp2sfpmat4(mat4 v) { return v; }

#endif
