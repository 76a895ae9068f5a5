// SPDX-License-Identifier: Apache-2.0
// Buffer functions of profile ncnn-2026. As in ../buffer.glsl each is one statement that evaluates
// every argument once; indices are kept in globals, which the optimiser removes.
uint spk_a_;
uvec4 spk_i4_;
void spk_set(uint a) { spk_a_ = a; }
void spk_set(uint a, uvec4 i) {
  spk_a_ = a;
  spk_i4_ = i;
}

// One part of a word is replaced by exchanging the word until nobody else has changed it between,
// so neighbours are never harmed. The first guess of what is there is 0; a failed exchange says.
uint spk_at_;
uint spk_shift_;
uint spk_mask_;
uint spk_part_;
uint spk_old_;
bool spk_busy_;
void spk_put(uint word, uint shift, uint mask, uint part) {
  spk_at_ = word;
  spk_shift_ = shift;
  spk_mask_ = mask;
  spk_part_ = part & mask;
  spk_old_ = 0u;
  spk_busy_ = true;
}
uint spk_new() { return (spk_old_ & ~(spk_mask_ << spk_shift_)) | (spk_part_ << spk_shift_); }
void spk_seen(uint word) {
  spk_busy_ = word != spk_old_;
  spk_old_ = word;
}

// Four parts of 16 or 8 bits out of two words or one, to four places.
uint spk_k_;
uvec2 spk_from_;
void spk_put16(uint i, uint part) { spk_put(i >> 1, (i & 1u) << 4, 0xffffu, part); }
void spk_put8(uint i, uint part) { spk_put(i >> 2, (i & 3u) << 3, 0xffu, part); }
void spk_next16() {
  spk_put16(spk_i4_[spk_k_], (spk_k_ < 2u ? spk_from_.x : spk_from_.y) >> ((spk_k_ & 1u) << 4));
}
void spk_next8() { spk_put8(spk_i4_[spk_k_], spk_from_.x >> (spk_k_ << 3)); }
void spk_put16(uvec4 i, uvec2 words) {
  spk_i4_ = i;
  spk_from_ = words;
  spk_k_ = 0u;
  spk_next16();
}
void spk_put8(uvec4 i, uint word) {
  spk_i4_ = i;
  spk_from_.x = word;
  spk_k_ = 0u;
  spk_next8();
}
void spk_seen16(uint word) {
  spk_seen(word);
  if (!spk_busy_ && ++spk_k_ < 4u) spk_next16();
}
void spk_seen8(uint word) {
  spk_seen(word);
  if (!spk_busy_ && ++spk_k_ < 4u) spk_next8();
}

#define spk_exchange(buf, put, seen) \
  do { \
    put; \
    do { \
      seen(atomicCompSwap(buf[spk_at_], spk_old_, spk_new())); \
    } while (spk_busy_); \
  } while (false)

// The 16 bits of scalar i: of the word that spk_word(i) has chosen.
uint spk_lane_;
uint spk_word(uint i) {
  spk_lane_ = (i & 1u) << 4;
  return i >> 1;
}
uint spk_bits(uint word) { return (word >> spk_lane_) & 0xffffu; }
uvec2 spk_join16(uint a, uint b, uint c, uint d) { return uvec2(a | (b << 16), c | (d << 16)); }

#define buffer_ld2(buf, i) sfp2afpvec2(buf[i])
#define buffer_ld4(buf, i) sfp2afpvec4(buf[i])
#define buffer_st2(buf, i, v) buf[i] = afp2sfpvec2(v)
#define buffer_st4(buf, i, v) buf[i] = afp2sfpvec4(v)
#define buffer_sm4(buf, i) spk_sm4(buf[i])
#define buffer_cp2(dst, di, src, si) dst[di] = src[si]
#define buffer_cp4(dst, di, src, si) dst[di] = src[si]

#if SPIRKILN_tight

#define buffer_ld1(buf, i) spk_decode(spk_bits(buf[spk_word(i)]))
#define buffer_st1(buf, i, v) spk_exchange(buf, spk_put16(i, spk_encode(v)), spk_seen)
#define buffer_sm1(buf, i) float(buffer_ld1(buf, i))
#define buffer_cp1(dst, di, src, si) \
  spk_exchange(dst, spk_put16(di, spk_bits(src[spk_word(si)])), spk_seen)
#define buffer_cp1to4(dst, di, src, si) \
  spk_set(di, si), dst[spk_a_] = spk_join16( \
    spk_bits(src[spk_word(spk_i4_.x)]), spk_bits(src[spk_word(spk_i4_.y)]), \
    spk_bits(src[spk_word(spk_i4_.z)]), spk_bits(src[spk_word(spk_i4_.w)]))
#define buffer_cp4to1(dst, di, src, si) spk_exchange(dst, spk_put16(di, src[si]), spk_seen16)

#else

#define buffer_ld1(buf, i) sfp2afp(buf[i])
#define buffer_st1(buf, i, v) buf[i] = afp2sfp(v)
#define buffer_sm1(buf, i) spk_sm1(buf[i])
#define buffer_cp1(dst, di, src, si) dst[di] = src[si]

#if NCNN_bf16_packed
uvec2 spk_u2_;
void spk_set(uvec4 i, uvec2 words) {
  spk_i4_ = i;
  spk_u2_ = words;
}
#define buffer_cp1to4(dst, di, src, si) \
  spk_set(di, si), dst[spk_a_] = spk_join16( \
    uint(src[spk_i4_.x]), uint(src[spk_i4_.y]), uint(src[spk_i4_.z]), uint(src[spk_i4_.w]))
#define buffer_cp4to1(dst, di, src, si) \
  spk_set(di, src[si]), dst[spk_i4_.x] = uint16_t(spk_u2_.x & 0xffffu), \
  dst[spk_i4_.y] = uint16_t(spk_u2_.x >> 16), dst[spk_i4_.z] = uint16_t(spk_u2_.y & 0xffffu), \
  dst[spk_i4_.w] = uint16_t(spk_u2_.y >> 16)
#elif NCNN_bf16_storage || (NCNN_fp16_storage && !NCNN_fp16_arithmetic)
// A 16-bit vector must not be built from scalars without 16-bit arithmetic: lane by lane.
#define buffer_cp1to4(dst, di, src, si) \
  spk_set(di, si), dst[spk_a_].x = src[spk_i4_.x], dst[spk_a_].y = src[spk_i4_.y], \
  dst[spk_a_].z = src[spk_i4_.z], dst[spk_a_].w = src[spk_i4_.w]
#define buffer_cp4to1(dst, di, src, si) \
  spk_set(si, di), dst[spk_i4_.x] = src[spk_a_].x, dst[spk_i4_.y] = src[spk_a_].y, \
  dst[spk_i4_.z] = src[spk_a_].z, dst[spk_i4_.w] = src[spk_a_].w
#else
sfpvec4 spk_s4_;
void spk_set(uvec4 i, sfpvec4 v) {
  spk_i4_ = i;
  spk_s4_ = v;
}
#define buffer_cp1to4(dst, di, src, si) \
  spk_set(di, si), dst[spk_a_] = sfpvec4(src[spk_i4_.x], src[spk_i4_.y], src[spk_i4_.z], \
                                         src[spk_i4_.w])
#define buffer_cp4to1(dst, di, src, si) \
  spk_set(di, src[si]), dst[spk_i4_.x] = spk_s4_.x, dst[spk_i4_.y] = spk_s4_.y, \
  dst[spk_i4_.z] = spk_s4_.z, dst[spk_i4_.w] = spk_s4_.w
#endif

#endif
