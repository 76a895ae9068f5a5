// SPDX-License-Identifier: Apache-2.0
// Buffer functions. A buffer cannot be passed to a GLSL function, so these are macros; each is one
// expression (safe as the branch of an `if`) and evaluates every argument once.
//
// Where an index is needed more than once, a function of its own takes all indices first, so an
// argument may itself call functions that use this file. The optimiser removes the globals. They
// are unsigned because int converts to uint, so both are accepted.
uint spk_a_;
uint spk_b_;
uvec2 spk_i2_;
uvec4 spk_i4_;
uvec4 spk_j4_;

void spk_set(uint a) { spk_a_ = a; }
void spk_set(uint a, uint b) { spk_a_ = a; spk_b_ = b; }
void spk_set(uint a, uvec2 i) { spk_a_ = a; spk_i2_ = i; }
void spk_set(uint a, uvec4 i) { spk_a_ = a; spk_i4_ = i; }
void spk_set(uint a, uvec4 i, uvec4 j) { spk_a_ = a; spk_i4_ = i; spk_j4_ = j; }

#define buffer_ld1(buf, i) sfp2afp(buf[i])
#define buffer_ld2(buf, i) sfp2afpvec2(buf[i])
#define buffer_ld4(buf, i) sfp2afpvec4(buf[i])
#define buffer_st1(buf, i, v) buf[i] = afp2sfp(v)
#define buffer_st2(buf, i, v) buf[i] = afp2sfpvec2(v)
#define buffer_st4(buf, i, v) buf[i] = afp2sfpvec4(v)

// Copies move the stored bits: no conversion, and none needed.
#define buffer_cp1(dst, di, src, si) dst[di] = src[si]
#define buffer_cp2(dst, di, src, si) dst[di] = src[si]
#define buffer_cp4(dst, di, src, si) dst[di] = src[si]

#if NCNN_fp16_storage && !NCNN_fp16_arithmetic

mat2x4 spk_afpvec8_;
void spk_set(uint a, mat2x4 v) { spk_a_ = a; spk_afpvec8_ = v; }

#define buffer_ld8(buf, i) \
  (spk_set(i), mat2x4(vec4(buf[spk_a_].abcd), vec4(buf[spk_a_].efgh)))
#define buffer_st8(buf, i, v) \
  spk_set(i, v), buf[spk_a_].abcd = f16vec4(spk_afpvec8_[0]), \
  buf[spk_a_].efgh = f16vec4(spk_afpvec8_[1])
#define buffer_cp8(dst, di, src, si) \
  spk_set(di, si), dst[spk_a_].abcd = src[spk_b_].abcd, dst[spk_a_].efgh = src[spk_b_].efgh

// A 16-bit vector must not be built from scalars without 16-bit arithmetic: lane by lane.
#define buffer_cp1to4(dst, di, src, si) \
  spk_set(di, si), dst[spk_a_].x = src[spk_i4_.x], dst[spk_a_].y = src[spk_i4_.y], \
  dst[spk_a_].z = src[spk_i4_.z], dst[spk_a_].w = src[spk_i4_.w]
#define buffer_cp1to8(dst, di, src, si0, si1) \
  spk_set(di, si0, si1), \
  dst[spk_a_].abcd.x = src[spk_i4_.x], dst[spk_a_].abcd.y = src[spk_i4_.y], \
  dst[spk_a_].abcd.z = src[spk_i4_.z], dst[spk_a_].abcd.w = src[spk_i4_.w], \
  dst[spk_a_].efgh.x = src[spk_j4_.x], dst[spk_a_].efgh.y = src[spk_j4_.y], \
  dst[spk_a_].efgh.z = src[spk_j4_.z], dst[spk_a_].efgh.w = src[spk_j4_.w]
#define buffer_cp4to8(dst, di, src, si) \
  spk_set(di, si), dst[spk_a_].abcd = src[spk_i2_.x], dst[spk_a_].efgh = src[spk_i2_.y]
#define buffer_cp4to1(dst, di, src, si) \
  spk_set(si, di), dst[spk_i4_.x] = src[spk_a_].x, dst[spk_i4_.y] = src[spk_a_].y, \
  dst[spk_i4_.z] = src[spk_a_].z, dst[spk_i4_.w] = src[spk_a_].w
#define buffer_cp8to1(dst, di0, di1, src, si) \
  spk_set(si, di0, di1), \
  dst[spk_i4_.x] = src[spk_a_].abcd.x, dst[spk_i4_.y] = src[spk_a_].abcd.y, \
  dst[spk_i4_.z] = src[spk_a_].abcd.z, dst[spk_i4_.w] = src[spk_a_].abcd.w, \
  dst[spk_j4_.x] = src[spk_a_].efgh.x, dst[spk_j4_.y] = src[spk_a_].efgh.y, \
  dst[spk_j4_.z] = src[spk_a_].efgh.z, dst[spk_j4_.w] = src[spk_a_].efgh.w
#define buffer_cp8to4(dst, di, src, si) \
  spk_set(si, di), dst[spk_i2_.x] = src[spk_a_].abcd, dst[spk_i2_.y] = src[spk_a_].efgh

#else

#define buffer_ld8(buf, i) sfp2afpvec8(buf[i])
#define buffer_st8(buf, i, v) buf[i] = afp2sfpvec8(v)
#define buffer_cp8(dst, di, src, si) dst[di] = src[si]

#if NCNN_fp16_packed
// Scalars are 32 bits wide in these variants and vectors 16, so a copy between them converts.
uvec4 spk_pack8(vec4 a, vec4 b) { return uvec4(spk_pack4(a), spk_pack4(b)); }
#define spk_join4 spk_pack4
#define spk_join8 spk_pack8
#define spk_join44(a, b) uvec4(a, b)
#define spk_lanes4(v) spk_unpack4(v)
#define spk_lanes8a(v) spk_unpack4(v.xy)
#define spk_lanes8b(v) spk_unpack4(v.zw)
#define spk_half8a(v) v.xy
#define spk_half8b(v) v.zw
#define spk_vec4 vec4
#else
#define spk_join4
#define spk_join8 sfpvec8
#define spk_join44(a, b) sfpvec8(a, b)
#define spk_lanes4(v) v
#define spk_lanes8a(v) v[0]
#define spk_lanes8b(v) v[1]
#define spk_half8a(v) v[0]
#define spk_half8b(v) v[1]
#define spk_vec4 sfpvec4
#endif

spk_vec4 spk_u4_;
spk_vec4 spk_v4_;

#define spk_gather4(src, i) spk_vec4(src[i.x], src[i.y], src[i.z], src[i.w])
#define spk_scatter4(dst, i, v) dst[i.x] = v.x, dst[i.y] = v.y, dst[i.z] = v.z, dst[i.w] = v.w

#define buffer_cp1to4(dst, di, src, si) \
  spk_set(di, si), dst[spk_a_] = spk_join4(spk_gather4(src, spk_i4_))
#define buffer_cp1to8(dst, di, src, si0, si1) \
  spk_set(di, si0, si1), \
  dst[spk_a_] = spk_join8(spk_gather4(src, spk_i4_), spk_gather4(src, spk_j4_))
#define buffer_cp4to8(dst, di, src, si) \
  spk_set(di, si), dst[spk_a_] = spk_join44(src[spk_i2_.x], src[spk_i2_.y])
#define buffer_cp4to1(dst, di, src, si) \
  spk_set(si, di), spk_u4_ = spk_lanes4(src[spk_a_]), spk_scatter4(dst, spk_i4_, spk_u4_)
#define buffer_cp8to1(dst, di0, di1, src, si) \
  spk_set(si, di0, di1), \
  spk_u4_ = spk_lanes8a(src[spk_a_]), spk_v4_ = spk_lanes8b(src[spk_a_]), \
  spk_scatter4(dst, spk_i4_, spk_u4_), spk_scatter4(dst, spk_j4_, spk_v4_)
#define buffer_cp8to4(dst, di, src, si) \
  spk_set(si, di), dst[spk_i2_.x] = spk_half8a(src[spk_a_]), dst[spk_i2_.y] = spk_half8b(src[spk_a_])

#endif
