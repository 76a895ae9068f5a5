// SPDX-License-Identifier: Apache-2.0
// Integer types and their buffer functions, of profile ncnn-2026; the same in every float variant.
// 8 bits: NCNN_int8_storage, else four to a word. 16 bits: NCNN_int16_storage, NCNN_int16_packed
// (two to a word), else one to a word.
ivec4 unpackInt4x8(int v) { return ivec4(v << 24, v << 16, v << 8, v) >> 24; }
int packInt4x8(ivec4 v) {
  ivec4 b = v & 0xff;
  return b.x | (b.y << 8) | (b.z << 16) | (b.w << 24);
}
// GLSL has functions of these names for 16-bit types; the dialect's are of int.
ivec2 spk_unpackInt2x16(int v) { return ivec2(v << 16, v) >> 16; }
int spk_packInt2x16(ivec2 v) { return (v.x & 0xffff) | (v.y << 16); }
#define unpackInt2x16 spk_unpackInt2x16
#define packInt2x16 spk_packInt2x16

// Rounds half away from zero, into [-127, 127].
int float2int8(float v) { return int(clamp(v + (v < 0.0 ? -0.5 : 0.5), -127.0, 127.0)); }
ivec4 float2int8vec4(vec4 v) {
  return ivec4(clamp(v + mix(vec4(0.5), vec4(-0.5), lessThan(v, vec4(0.0))), -127.0, 127.0));
}

#define aint8 int
#define aint8vec4 ivec4
#define sint8vec4 int
#if NCNN_int8_storage
#define sint8 int8_t
#else
#define sint8 int
#endif

#if NCNN_int16_storage
#define sint16 int16_t
#define sint16vec4 i16vec4
#elif NCNN_int16_packed
#define sint16 int
#define sint16vec4 ivec2
#else
#define sint16 int
#define sint16vec4 ivec4
#endif
#define lint16 sint16
#define lint16vec4 sint16vec4
#if (NCNN_int16_storage || NCNN_int16_packed) && ncnn_shaderInt16
#define aint16 int16_t
#define aint16vec4 i16vec4
#define spk_aint16vec2 i16vec2
#else
#define aint16 int
#define aint16vec4 ivec4
#define spk_aint16vec2 ivec2
#endif

int spk_w1_;
void spk_set(uvec4 i, int word) {
  spk_i4_ = i;
  spk_w1_ = word;
}

#define spk_iexchange(buf, put, seen) \
  do { \
    put; \
    do { \
      seen(uint(atomicCompSwap(buf[spk_at_], int(spk_old_), int(spk_new())))); \
    } while (spk_busy_); \
  } while (false)

// ---- 8 bits
#define i8buffer_ld4(buf, i) unpackInt4x8(buf[i])
#define i8buffer_sm4(buf, i) buf[i]
#define i8buffer_st4(buf, i, v) buf[i] = packInt4x8(v)
#define i8buffer_cp4(dst, di, src, si) dst[di] = src[si]
#if NCNN_int8_storage
#define i8buffer_ld1(buf, i) int(buf[i])
#define i8buffer_st1(buf, i, v) buf[i] = int8_t(v)
#define i8buffer_cp1(dst, di, src, si) dst[di] = src[si]
#define i8buffer_cp1to4(dst, di, src, si) \
  spk_set(di, si), dst[spk_a_] = packInt4x8(ivec4( \
    int(src[spk_i4_.x]), int(src[spk_i4_.y]), int(src[spk_i4_.z]), int(src[spk_i4_.w])))
#define i8buffer_cp4to1(dst, di, src, si) \
  spk_set(di, src[si]), dst[spk_i4_.x] = int8_t(unpackInt4x8(spk_w1_).x), \
  dst[spk_i4_.y] = int8_t(unpackInt4x8(spk_w1_).y), \
  dst[spk_i4_.z] = int8_t(unpackInt4x8(spk_w1_).z), \
  dst[spk_i4_.w] = int8_t(unpackInt4x8(spk_w1_).w)
#else
uint spk_byte_;
uint spk_word8(uint i) {
  spk_byte_ = (3u - (i & 3u)) << 3;
  return i >> 2;
}
int spk_bits8(int word) { return (word << spk_byte_) >> 24; }
#define i8buffer_ld1(buf, i) spk_bits8(buf[spk_word8(i)])
#define i8buffer_st1(buf, i, v) spk_iexchange(buf, spk_put8(i, uint(v)), spk_seen)
#define i8buffer_cp1(dst, di, src, si) \
  spk_iexchange(dst, spk_put8(di, uint(spk_bits8(src[spk_word8(si)]))), spk_seen)
#define i8buffer_cp1to4(dst, di, src, si) \
  spk_set(di, si), dst[spk_a_] = packInt4x8(ivec4( \
    spk_bits8(src[spk_word8(spk_i4_.x)]), spk_bits8(src[spk_word8(spk_i4_.y)]), \
    spk_bits8(src[spk_word8(spk_i4_.z)]), spk_bits8(src[spk_word8(spk_i4_.w)])))
#define i8buffer_cp4to1(dst, di, src, si) \
  spk_iexchange(dst, spk_put8(di, uint(src[si])), spk_seen8)
#endif

// ---- 16 bits
#if NCNN_int16_storage
#define i16buffer_ld1(buf, i) aint16(buf[i])
#define i16buffer_ld2(buf, i) (spk_set(i), spk_aint16vec2(aint16(buf[spk_a_]), aint16(buf[spk_a_ + 1u])))
#define i16buffer_ld4(buf, i) aint16vec4(buf[i])
#define i16buffer_sm4(buf, i) buf[i]
#define i16buffer_st1(buf, i, v) buf[i] = int16_t(v)
ivec2 spk_iv2_;
void spk_set(uint a, ivec2 v) {
  spk_a_ = a;
  spk_iv2_ = v;
}
#define i16buffer_st2(buf, i, v) \
  spk_set(i, ivec2(v)), buf[spk_a_] = int16_t(spk_iv2_.x), buf[spk_a_ + 1u] = int16_t(spk_iv2_.y)
#define i16buffer_st4(buf, i, v) buf[i] = i16vec4(v)
#define lint162aint16(v) aint16(v)
#define lint162aint16vec4(v) aint16vec4(v)
#elif NCNN_int16_packed
int spk_bits16(int word) { return (word << (16u - spk_lane_)) >> 16; }
ivec4 spk_unpack16(ivec2 v) { return ivec4(unpackInt2x16(v.x), unpackInt2x16(v.y)); }
ivec2 spk_pack16(ivec4 v) { return ivec2(packInt2x16(v.xy), packInt2x16(v.zw)); }
// Two neighbours that need not share a word.
void spk_put16x2(uint i, ivec2 v) {
  spk_i4_ = uvec4(0u, 0u, i, i + 1u);
  spk_from_ = uvec2(0u, uint(packInt2x16(v)));
  spk_k_ = 2u;
  spk_next16();
}
#define i16buffer_ld1(buf, i) aint16(spk_bits16(buf[spk_word(i)]))
#define i16buffer_ld2(buf, i) \
  (spk_set(i), spk_aint16vec2(i16buffer_ld1(buf, spk_a_), i16buffer_ld1(buf, spk_a_ + 1u)))
#define i16buffer_ld4(buf, i) aint16vec4(spk_unpack16(buf[i]))
#define i16buffer_sm4(buf, i) buf[i]
#define i16buffer_st1(buf, i, v) spk_iexchange(buf, spk_put16(i, uint(v)), spk_seen)
#define i16buffer_st2(buf, i, v) spk_iexchange(buf, spk_put16x2(i, ivec2(v)), spk_seen16)
#define i16buffer_st4(buf, i, v) buf[i] = spk_pack16(ivec4(v))
#define lint162aint16(v) aint16(v)
#define lint162aint16vec4(v) aint16vec4(spk_unpack16(v))
#else
ivec2 spk_iv2_;
void spk_set(uint a, ivec2 v) {
  spk_a_ = a;
  spk_iv2_ = v;
}
#define i16buffer_ld1(buf, i) int(buf[i])
#define i16buffer_ld2(buf, i) (spk_set(i), ivec2(buf[spk_a_], buf[spk_a_ + 1u]))
#define i16buffer_ld4(buf, i) ivec4(buf[i])
#define i16buffer_sm4(buf, i) buf[i]
#define i16buffer_st1(buf, i, v) buf[i] = int(v)
#define i16buffer_st2(buf, i, v) \
  spk_set(i, v), buf[spk_a_] = spk_iv2_.x, buf[spk_a_ + 1u] = spk_iv2_.y
#define i16buffer_st4(buf, i, v) buf[i] = ivec4(v)
#define lint162aint16(v) int(v)
#define lint162aint16vec4(v) ivec4(v)
#endif
