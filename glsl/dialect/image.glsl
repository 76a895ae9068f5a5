// SPDX-License-Identifier: Apache-2.0
// Image functions. Sources are sampled images read texel by texel at level 0, destinations storage
// images. Macros, since an image's format and qualifiers are part of its type; every argument is
// evaluated once. Eight lanes are two texels side by side, at 2x and 2x + 1.
// Positions are whole numbers; a float is cut to one.
int spk_pos1(int p) { return p; }
int spk_pos1(uint p) { return int(p); }
int spk_pos1(float p) { return int(p); }
ivec2 spk_pos2(ivec2 p) { return p; }
ivec2 spk_pos2(uvec2 p) { return ivec2(p); }
ivec2 spk_pos2(vec2 p) { return ivec2(p); }
ivec3 spk_pos3(ivec3 p) { return p; }
ivec3 spk_pos3(uvec3 p) { return ivec3(p); }
ivec3 spk_pos3(vec3 p) { return ivec3(p); }

// Texels for copies and scalars as they are: an image that is `unfp` (mediump) may be read with 16
// bits, and r32f, which packed variants keep scalars in, has more.
vec4 spk_fetch(highp sampler1D s, int p) { return texelFetch(s, p, 0); }
vec4 spk_fetch(highp sampler2D s, ivec2 p) { return texelFetch(s, p, 0); }
vec4 spk_fetch(highp sampler3D s, ivec3 p) { return texelFetch(s, p, 0); }

afp spk_texel1(vec4 v) { return afp(v.r); }
afpvec4 spk_texel4(vec4 v) { return afpvec4(v); }
vec4 spk_st_texel1(afp v) { return vec4(v, 0.0, 0.0, 0.0); }
vec4 spk_st_texel4(afpvec4 v) { return vec4(v); }
#if NCNN_fp16_arithmetic
vec4 spk_st_texel1(float v) { return vec4(v, 0.0, 0.0, 0.0); }
vec4 spk_st_texel4(vec4 v) { return v; }
#endif

// The left texel of eight lanes, at a source and at a destination; the right one is next to it.
int spk_src1_;
ivec2 spk_src2_;
ivec3 spk_src3_;
int spk_dst1_;
ivec2 spk_dst2_;
ivec3 spk_dst3_;
afpvec8 spk_texel8_;

int spk_src8_1(int p) {
  spk_src1_ = p * 2;
  return spk_src1_;
}
void spk_set8_1(int p) { spk_dst1_ = p * 2; }
void spk_set8_1(int p, int q) {
  spk_dst1_ = p * 2;
  spk_src8_1(q);
}
void spk_set8_1(int p, afpvec8 v) {
  spk_dst1_ = p * 2;
  spk_texel8_ = v;
}
#define image1d_ld1(src, p) spk_texel1(spk_fetch(src, spk_pos1(p)))
#define image1d_ld4(src, p) spk_texel4(texelFetch(src, spk_pos1(p), 0))
#define image1d_ld8(src, p) \
  afpvec8(spk_texel4(texelFetch(src, spk_src8_1(spk_pos1(p)), 0)), \
          spk_texel4(texelFetch(src, spk_src1_ + 1, 0)))
#define image1d_st1(dst, p, v) imageStore(dst, spk_pos1(p), spk_st_texel1(v))
#define image1d_st4(dst, p, v) imageStore(dst, spk_pos1(p), spk_st_texel4(v))
#define image1d_st8(dst, p, v) \
  spk_set8_1(spk_pos1(p), v), imageStore(dst, spk_dst1_, spk_st_texel4(spk_texel8_[0])), \
  imageStore(dst, spk_dst1_ + 1, spk_st_texel4(spk_texel8_[1]))
#define image1d_cp1(dst, p, src, q) \
  imageStore(dst, spk_pos1(p), spk_fetch(src, spk_pos1(q)))
#define image1d_cp4(dst, p, src, q) \
  imageStore(dst, spk_pos1(p), spk_fetch(src, spk_pos1(q)))
#define image1d_cp8(dst, p, src, q) \
  spk_set8_1(spk_pos1(p), spk_pos1(q)), \
  imageStore(dst, spk_dst1_, spk_fetch(src, spk_src1_)), \
  imageStore(dst, spk_dst1_ + 1, spk_fetch(src, spk_src1_ + 1))

ivec2 spk_src8_2(ivec2 p) {
  spk_src2_ = ivec2(p.x * 2, p.y);
  return spk_src2_;
}
void spk_set8_2(ivec2 p) { spk_dst2_ = ivec2(p.x * 2, p.y); }
void spk_set8_2(ivec2 p, ivec2 q) {
  spk_dst2_ = ivec2(p.x * 2, p.y);
  spk_src8_2(q);
}
void spk_set8_2(ivec2 p, afpvec8 v) {
  spk_dst2_ = ivec2(p.x * 2, p.y);
  spk_texel8_ = v;
}
#define image2d_ld1(src, p) spk_texel1(spk_fetch(src, spk_pos2(p)))
#define image2d_ld4(src, p) spk_texel4(texelFetch(src, spk_pos2(p), 0))
#define image2d_ld8(src, p) \
  afpvec8(spk_texel4(texelFetch(src, spk_src8_2(spk_pos2(p)), 0)), \
          spk_texel4(texelFetch(src, spk_src2_ + ivec2(1, 0), 0)))
#define image2d_st1(dst, p, v) imageStore(dst, spk_pos2(p), spk_st_texel1(v))
#define image2d_st4(dst, p, v) imageStore(dst, spk_pos2(p), spk_st_texel4(v))
#define image2d_st8(dst, p, v) \
  spk_set8_2(spk_pos2(p), v), imageStore(dst, spk_dst2_, spk_st_texel4(spk_texel8_[0])), \
  imageStore(dst, spk_dst2_ + ivec2(1, 0), spk_st_texel4(spk_texel8_[1]))
#define image2d_cp1(dst, p, src, q) \
  imageStore(dst, spk_pos2(p), spk_fetch(src, spk_pos2(q)))
#define image2d_cp4(dst, p, src, q) \
  imageStore(dst, spk_pos2(p), spk_fetch(src, spk_pos2(q)))
#define image2d_cp8(dst, p, src, q) \
  spk_set8_2(spk_pos2(p), spk_pos2(q)), \
  imageStore(dst, spk_dst2_, spk_fetch(src, spk_src2_)), \
  imageStore(dst, spk_dst2_ + ivec2(1, 0), spk_fetch(src, spk_src2_ + ivec2(1, 0)))

ivec3 spk_src8_3(ivec3 p) {
  spk_src3_ = ivec3(p.x * 2, p.yz);
  return spk_src3_;
}
void spk_set8_3(ivec3 p) { spk_dst3_ = ivec3(p.x * 2, p.yz); }
void spk_set8_3(ivec3 p, ivec3 q) {
  spk_dst3_ = ivec3(p.x * 2, p.yz);
  spk_src8_3(q);
}
void spk_set8_3(ivec3 p, afpvec8 v) {
  spk_dst3_ = ivec3(p.x * 2, p.yz);
  spk_texel8_ = v;
}
#define image3d_ld1(src, p) spk_texel1(spk_fetch(src, spk_pos3(p)))
#define image3d_ld4(src, p) spk_texel4(texelFetch(src, spk_pos3(p), 0))
#define image3d_ld8(src, p) \
  afpvec8(spk_texel4(texelFetch(src, spk_src8_3(spk_pos3(p)), 0)), \
          spk_texel4(texelFetch(src, spk_src3_ + ivec3(1, 0, 0), 0)))
#define image3d_st1(dst, p, v) imageStore(dst, spk_pos3(p), spk_st_texel1(v))
#define image3d_st4(dst, p, v) imageStore(dst, spk_pos3(p), spk_st_texel4(v))
#define image3d_st8(dst, p, v) \
  spk_set8_3(spk_pos3(p), v), imageStore(dst, spk_dst3_, spk_st_texel4(spk_texel8_[0])), \
  imageStore(dst, spk_dst3_ + ivec3(1, 0, 0), spk_st_texel4(spk_texel8_[1]))
#define image3d_cp1(dst, p, src, q) \
  imageStore(dst, spk_pos3(p), spk_fetch(src, spk_pos3(q)))
#define image3d_cp4(dst, p, src, q) \
  imageStore(dst, spk_pos3(p), spk_fetch(src, spk_pos3(q)))
#define image3d_cp8(dst, p, src, q) \
  spk_set8_3(spk_pos3(p), spk_pos3(q)), \
  imageStore(dst, spk_dst3_, spk_fetch(src, spk_src3_)), \
  imageStore(dst, spk_dst3_ + ivec3(1, 0, 0), spk_fetch(src, spk_src3_ + ivec3(1, 0, 0)))
