// SPDX-License-Identifier: Apache-2.0
#include "functions.hpp"

namespace spirkiln::test {
namespace {

using enum Side;
using enum Path;

constexpr Function kBuffers[] = {
    {"buffer_ld1", 0, kS1, kFloats, 1, 1, false, kLoad, "put(i, buffer_ld1(src, j));"},
    {"buffer_ld2", 0, kS2, kFloats, 2, 2, false, kLoad, "put(i, buffer_ld2(src, j));"},
    {"buffer_ld4", 0, kS4, kFloats, 4, 4, false, kLoad, "put(i, buffer_ld4(src, j));"},
    {"buffer_ld8", 2023, kS8, kFloats, 8, 8, false, kLoad, "put(i, buffer_ld8(src, j));"},
    {"buffer_st1", 0, kFloats, kS1, 1, 1, false, kStore, "buffer_st1(dst, i, get1(j));"},
    {"buffer_st2", 0, kFloats, kS2, 2, 2, false, kStore, "buffer_st2(dst, i, get2(j));"},
    {"buffer_st4", 0, kFloats, kS4, 4, 4, false, kStore, "buffer_st4(dst, i, get4(j));"},
    {"buffer_st8", 2023, kFloats, kS8, 8, 8, false, kStore, "buffer_st8(dst, i, get8(j));"},
    {"buffer_st1 of a float", 0, kFloats, kS1, 1, 1, false, kWide, "buffer_st1(dst, i, wide1(j));",
     Where::kHalfArithmetic},
    {"buffer_st2 of a vec2", 0, kFloats, kS2, 2, 2, false, kWide, "buffer_st2(dst, i, wide2(j));",
     Where::kHalfArithmetic},
    {"buffer_st4 of a vec4", 0, kFloats, kS4, 4, 4, false, kWide, "buffer_st4(dst, i, wide4(j));",
     Where::kHalfArithmetic},
    {"buffer_cp1", 0, kS1, kS1, 1, 1, false, kBits, "buffer_cp1(dst, i, src, j);"},
    {"buffer_cp2", 0, kS2, kS2, 2, 2, false, kBits, "buffer_cp2(dst, i, src, j);"},
    {"buffer_cp4", 0, kS4, kS4, 4, 4, false, kBits, "buffer_cp4(dst, i, src, j);"},
    {"buffer_cp8", 2023, kS8, kS8, 8, 8, false, kBits, "buffer_cp8(dst, i, src, j);"},
    {"buffer_cp1to4", 0, kS1, kS4, 4, 1, false, kCopy, "buffer_cp1to4(dst, i, src, q);"},
    {"buffer_cp1to8", 2023, kS1, kS8, 8, 1, false, kCopy, "buffer_cp1to8(dst, i, src, q, r);"},
    {"buffer_cp4to8", 2023, kS4, kS8, 8, 4, false, kBits, "buffer_cp4to8(dst, i, src, h);"},
    {"buffer_cp4to1", 0, kS4, kS1, 4, 1, true, kCopy, "buffer_cp4to1(dst, q, src, i);"},
    {"buffer_cp8to1", 2023, kS8, kS1, 8, 1, true, kCopy, "buffer_cp8to1(dst, q, r, src, i);"},
    {"buffer_cp8to4", 2023, kS8, kS4, 8, 4, true, kBits, "buffer_cp8to4(dst, h, src, i);"},
    {"sfp2afp", 0, kS1, kFloats, 1, 1, false, kLoad, "put(i, sfp2afp(src[j]));", Where::kNotTight},
    {"sfp2afpvec2", 0, kS2, kFloats, 2, 2, false, kLoad, "put(i, sfp2afpvec2(src[j]));"},
    {"sfp2afpvec4", 0, kS4, kFloats, 4, 4, false, kLoad, "put(i, sfp2afpvec4(src[j]));"},
    {"afp2sfp", 0, kFloats, kS1, 1, 1, false, kStore, "dst[i] = afp2sfp(get1(j));",
     Where::kNotTight},
    {"afp2sfpvec2", 0, kFloats, kS2, 2, 2, false, kStore, "dst[i] = afp2sfpvec2(get2(j));"},
    {"afp2sfpvec4", 0, kFloats, kS4, 4, 4, false, kStore, "dst[i] = afp2sfpvec4(get4(j));"},
    {"sfp2afpvec8", 2023, kS8, kFloats, 8, 8, false, kLoad, "put(i, sfp2afpvec8(src[j]));",
     Where::kMatrixOfEight},
    {"afp2sfpvec8", 2023, kFloats, kS8, 8, 8, false, kStore, "dst[i] = afp2sfpvec8(get8(j));",
     Where::kMatrixOfEight},
    {"sfp2afpmat4, afp2sfpmat4", 0, kS16, kS16, 16, 16, false, kBits,
     "dst[i] = afp2sfpmat4(sfp2afpmat4(src[j]));", Where::kMatrices},
    {"sfp2lfp, lfp2afp", 2023, kS1, kFloats, 1, 1, false, kLoad,
     "l1[t] = sfp2lfp(src[j]); barrier(); put(i ^ 1, lfp2afp(l1[t ^ 1]));"},
    {"sfp2lfpvec4, lfp2afpvec4", 2023, kS4, kFloats, 4, 4, false, kLoad,
     "l4[t] = sfp2lfpvec4(src[j]); barrier(); put(i ^ 1, lfp2afpvec4(l4[t ^ 1]));"},
    {"buffer_sm1, lfp2afp", 2026, kS1, kFloats, 1, 1, false, kLoad,
     "l1[t] = buffer_sm1(src, j); barrier(); put(i ^ 1, lfp2afp(l1[t ^ 1]));"},
    {"buffer_sm4, lfp2afpvec4", 2026, kS4, kFloats, 4, 4, false, kLoad,
     "l4[t] = buffer_sm4(src, j); barrier(); put(i ^ 1, lfp2afpvec4(l4[t ^ 1]));"},
    {"afp2lfp, lfp2afp", 0, kFloats, kFloats, 1, 1, false, kLocal1,
     "l1[t] = afp2lfp(get1(j)); barrier(); put(i ^ 1, lfp2afp(l1[t ^ 1]));"},
    {"afp2lfpvec4, lfp2afpvec4", 0, kFloats, kFloats, 4, 4, false, kLocal4,
     "l4[t] = afp2lfpvec4(get4(j)); barrier(); put(i ^ 1, lfp2afpvec4(l4[t ^ 1]));"},
    // One within another, as kernels have them.
    {"buffer_st1 of buffer_ld1", 0, kS1, kS1, 1, 1, false, kThrough,
     "if (i > 7) buffer_st1(dst, i, buffer_ld1(src, j)); else buffer_st1(dst, i, buffer_ld1(src, "
     "e(i)));"},
    {"buffer_st2 of buffer_ld2", 0, kS2, kS2, 2, 2, false, kThrough,
     "buffer_st2(dst, i, buffer_ld2(src, j));"},
    {"buffer_st4 of buffer_ld4", 0, kS4, kS4, 4, 4, false, kThrough,
     "if (i > 7) buffer_st4(dst, i, buffer_ld4(src, j)); else buffer_st4(dst, i, buffer_ld4(src, "
     "e(i)));"},
    {"buffer_st8 of buffer_ld8", 2023, kS8, kS8, 8, 8, false, kThrough,
     "if (i > 7) buffer_st8(dst, i, buffer_ld8(src, j)); else buffer_st8(dst, i, buffer_ld8(src, "
     "e(i)));"},
    {"buffer_st4 of four buffer_ld1", 0, kS1, kS4, 4, 1, false, kThrough,
     "buffer_st4(dst, i, afpvec4(buffer_ld1(src, q.x), buffer_ld1(src, q.y), buffer_ld1(src, q.z), "
     "buffer_ld1(src, q.w)));"},
    {"buffer_st8 of two buffer_ld4", 2023, kS4, kS8, 8, 4, false, kThrough,
     "buffer_st8(dst, i, afpvec8(buffer_ld4(src, h.x), buffer_ld4(src, h.y)));"},
    {"four buffer_st1 of buffer_ld4", 0, kS4, kS1, 4, 1, true, kThrough,
     "afpvec4 v = buffer_ld4(src, i); buffer_st1(dst, q.x, v.x); buffer_st1(dst, q.y, v.y); "
     "buffer_st1(dst, q.z, v.z); buffer_st1(dst, q.w, v.w);"},
};

constexpr Function kImages[] = {
    {"imageD_ld1", 2023, kImage1, kFloats, 1, 1, false, kFetch,
     "put(i, imageD_ld1(src, posf(j)));"},
    {"imageD_ld4", 2023, kImage4, kFloats, 4, 4, false, kFetch,
     "put(i, imageD_ld4(src, posf(j)));"},
    {"imageD_ld8", 2023, kImage4, kFloats, 8, 8, false, kFetch, "put(i, imageD_ld8(src, pos(j)));"},
    {"imageD_st1", 2023, kFloats, kImage1, 1, 1, false, kPut, "imageD_st1(dst, pos(i), get1(j));"},
    {"imageD_st4", 2023, kFloats, kImage4, 4, 4, false, kPut, "imageD_st4(dst, pos(i), get4(j));"},
    {"imageD_st8", 2023, kFloats, kImage4, 8, 8, false, kPut, "imageD_st8(dst, pos(i), get8(j));"},
    {"imageD_cp1", 2023, kImage1, kImage1, 1, 1, false, kMove,
     "imageD_cp1(dst, pos(i), src, posf(j));"},
    {"imageD_cp4", 2023, kImage4, kImage4, 4, 4, false, kMove,
     "imageD_cp4(dst, pos(i), src, posf(j));"},
    {"imageD_cp8", 2023, kImage4, kImage4, 8, 8, false, kMove,
     "imageD_cp8(dst, pos(i), src, pos(j));"},
    {"imageD_st1 of imageD_ld1", 2023, kImage1, kImage1, 1, 1, false, kThrough,
     "imageD_st1(dst, pos(i), imageD_ld1(src, pos(j)));"},
    {"imageD_st8 of imageD_ld8", 2023, kImage4, kImage4, 8, 8, false, kThrough,
     "if (i > 7) imageD_st8(dst, pos(i), imageD_ld8(src, pos(j))); else imageD_st8(dst, pos(i), "
     "imageD_ld8(src, pos(e(i))));"},
};

constexpr Function kIntegers[] = {
    {"i8buffer_ld1", 2026, kI8, kInts, 1, 1, false, kInteger, "put(i, i8buffer_ld1(src, j));"},
    {"i8buffer_ld4", 2026, kI8x4, kInts, 4, 4, false, kInteger, "put(i, i8buffer_ld4(src, j));"},
    {"i8buffer_sm4", 2026, kI8x4, kI8x4, 4, 4, false, kBits, "dst[i] = i8buffer_sm4(src, j);"},
    {"i8buffer_st1", 2026, kInts, kI8, 1, 1, false, kInteger, "i8buffer_st1(dst, i, get1(j));"},
    {"i8buffer_st4", 2026, kInts, kI8x4, 4, 4, false, kInteger, "i8buffer_st4(dst, i, get4(j));"},
    {"i8buffer_cp1", 2026, kI8, kI8, 1, 1, false, kBits, "i8buffer_cp1(dst, i, src, j);"},
    {"i8buffer_cp4", 2026, kI8x4, kI8x4, 4, 4, false, kBits, "i8buffer_cp4(dst, i, src, j);"},
    {"i8buffer_cp1to4", 2026, kI8, kI8x4, 4, 1, false, kBits, "i8buffer_cp1to4(dst, i, src, q);"},
    {"i8buffer_cp4to1", 2026, kI8x4, kI8, 4, 1, true, kBits, "i8buffer_cp4to1(dst, q, src, i);"},
    {"i16buffer_ld1", 2026, kI16, kInts, 1, 1, false, kInteger,
     "put(i, int(i16buffer_ld1(src, j)));"},
    {"i16buffer_ld2", 2026, kI16, kInts, 2, 2, false, kInteger,
     "put(i, ivec2(i16buffer_ld2(src, j * 2)));"},
    {"i16buffer_ld2 across words", 2026, kI16, kInts, 2, 2, false, kInteger,
     "put(i, ivec2(i16buffer_ld2(src, j * 2 + 1)));", Where::kEverywhere, 1},
    {"i16buffer_ld4", 2026, kI16x4, kInts, 4, 4, false, kInteger,
     "put(i, ivec4(i16buffer_ld4(src, j)));"},
    {"i16buffer_sm4", 2026, kI16x4, kI16x4, 4, 4, false, kBits, "dst[i] = i16buffer_sm4(src, j);"},
    {"i16buffer_st1", 2026, kInts, kI16, 1, 1, false, kInteger,
     "i16buffer_st1(dst, i, aint16(get1(j)));"},
    {"i16buffer_st2", 2026, kInts, kI16, 2, 2, false, kInteger,
     "i16buffer_st2(dst, i * 2, get2(j));"},
    {"i16buffer_st2 across words", 2026, kInts, kI16, 2, 2, false, kInteger,
     "i16buffer_st2(dst, i * 2 + 1, get2(j));", Where::kEverywhere, 1},
    {"i16buffer_st4", 2026, kInts, kI16x4, 4, 4, false, kInteger,
     "i16buffer_st4(dst, i, aint16vec4(get4(j)));"},
  // Without shaderInt16 there is no workgroup memory of 16 bits.
    {"lint162aint16", 2026, kI16, kInts, 1, 1, false, kInteger,
     "m1[t] = lint16(i16buffer_ld1(src, j)); barrier(); put(i ^ 1, int(lint162aint16(m1[t ^ 1])));",
     Where::kInt16},
    {"lint162aint16vec4", 2026, kI16x4, kInts, 4, 4, false, kInteger,
     "m4[t] = i16buffer_sm4(src, j); barrier(); put(i ^ 1, ivec4(lint162aint16vec4(m4[t ^ 1])));",
     Where::kInt16},
    {"i8buffer_st1 of i8buffer_ld1", 2026, kI8, kI8, 1, 1, false, kInteger,
     "i8buffer_st1(dst, i, i8buffer_ld1(src, j));"},
    {"i16buffer_st1 of i16buffer_ld1", 2026, kI16, kI16, 1, 1, false, kInteger,
     "i16buffer_st1(dst, i, i16buffer_ld1(src, j));"},
    {"i16buffer_st2 of i16buffer_ld2", 2026, kI16, kI16, 2, 2, false, kInteger,
     "i16buffer_st2(dst, i * 2 + 1, i16buffer_ld2(src, j * 2 + 1));", Where::kEverywhere, 1},
    {"unpackInt4x8", 2026, kI8x4, kInts, 4, 4, false, kInteger, "put(i, unpackInt4x8(src[j]));"},
    {"packInt4x8", 2026, kInts, kI8x4, 4, 4, false, kInteger, "dst[i] = packInt4x8(get4(j));"},
    {"unpackInt2x16", 2026, kI16x2, kInts, 2, 2, false, kInteger, "put(i, unpackInt2x16(src[j]));"},
    {"packInt2x16", 2026, kInts, kI16x2, 2, 2, false, kInteger, "dst[i] = packInt2x16(get2(j));"},
    {"float2int8", 2026, kFloats, kInts, 1, 1, false, kRound8, "put(i, float2int8(wide1(j)));"},
    {"float2int8vec4", 2026, kFloats, kInts, 4, 4, false, kRound8,
     "put(i, float2int8vec4(wide4(j)));"},
};

}  // namespace

std::span<const Function> buffer_functions() { return kBuffers; }
std::span<const Function> image_functions() { return kImages; }
std::span<const Function> integer_functions() { return kIntegers; }

}  // namespace spirkiln::test
