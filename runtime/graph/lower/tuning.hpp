// SPDX-License-Identifier: Apache-2.0
// Every number by which lowering chooses between forms of a kernel, with the reason. Correctness
// depends on none of them.
#pragma once

#include <cstdint>

namespace spirkiln::tuning {

// Invocations of a workgroup in jobs where each works for itself. Two subgroups of 32 or one of 64.
inline constexpr std::uint32_t kLinearGroup = 64;
// With very many of them, starting workgroups is what takes time.
inline constexpr std::uint32_t kLinearGroupWide = 256;
inline constexpr std::uint64_t kLinearGroupWideFrom = 1u << 18;
// Of those that share what they load, and pass it through the 16 KiB of workgroup memory that every
// device has.
inline constexpr std::uint32_t kSharingGroup = 128;
// A CPU driver pays for each workgroup, not for each invocation.
inline constexpr std::uint32_t kLinearGroupSoftware = 128;

// Invocations that share a row in layer norm and softmax. A power of two of at most 256
// (row_reduce.glsl). A CPU driver runs a barrier as a switch between coroutines: few of them.
inline constexpr std::uint32_t kNormGroup = 32;
inline constexpr std::uint32_t kSoftmaxGroup = 128;
inline constexpr std::uint32_t kRowGroupSoftware = 8;

// Pixels that one invocation of mean_partial adds at least, and pieces of a picture at most: on the
// H200 loads in flight decide, so pieces are many and small.
inline constexpr std::uint32_t kMeanPiece = 16;
inline constexpr std::uint32_t kMeanPieceSoftware = 64;
inline constexpr std::uint32_t kMeanMaxPieces = 1024;
// Workgroup of mean_final: vectors of channels, and shares of the pieces.
inline constexpr std::uint32_t kMeanX = 8;
inline constexpr std::uint32_t kMeanY = 16;

// Workgroup of squeeze_excite: vectors of outputs, and shares of the inputs; and the bound of its
// workgroup memory (MAX_VECTORS of squeeze_excite.comp), beyond which it is two matrix products.
inline constexpr std::uint32_t kSqueezeX = 16;
inline constexpr std::uint32_t kSqueezeY = 16;
inline constexpr std::uint32_t kSqueezeMaxVectors = 256;

// Vectors of a product that an invocation of squeeze_excite_scale has: each workgroup makes the
// gate anew, so that more of them cost next to nothing.
inline constexpr std::uint32_t kScaleVectors = 2;
// Vectors of a picture up to which it is taken. H200: orientation 0.259 ms instead of 0.279, with 9
// pictures of up to 6,336; detection of 960 x 960 0.585 instead of 0.560 when those of 21,600 are
// among them.
inline constexpr std::uint64_t kScaleMaxVectors = 1u << 13;

// Storage buffers that squeeze_excite binds; with fewer it is two matrix products, too.
inline constexpr std::uint32_t kSqueezeBindings = 10;

// Vectors of a picture up to which its one workgroup takes the mean of all pixels; beyond, it adds
// up what mean_partial leaves.
inline constexpr std::uint64_t kSqueezeMeanVectors = 1u << 15;

// Inputs of concat's two forms (INPUTS of concat.comp), and what a form binds beside them: residual
// and output. A device of eight storage buffers takes the narrow form, several times where need be.
inline constexpr std::uint32_t kConcatWide = 8;
inline constexpr std::uint32_t kConcatNarrow = 4;
inline constexpr std::uint32_t kConcatOthers = 2;

// Positions of a workgroup in attention, and invocations that share the keys of one; halved until
// they fit the device. Loads that wait for each other are what takes time, so a GPU shares them
// out.
inline constexpr std::uint32_t kAttentionQueries = 2;
inline constexpr std::uint32_t kAttentionParts = 8;
inline constexpr std::uint32_t kAttentionQueriesSoftware = 8;
// Keys whose loads overlap. A CPU driver has nothing to overlap and compiles four times the code.
inline constexpr std::uint32_t kAttentionBlock = 4;
// Vectors of a head: its query and result stay in registers.
inline constexpr std::uint32_t kAttentionMaxDim4 = 32;

// Register tiles, as the kernels have them.
inline constexpr std::uint32_t kRegTileM = 4;  // gemm_reg.comp TILE_M
inline constexpr std::uint32_t kConvTileW = 4;  // conv_direct.comp TILE_W
inline constexpr std::uint32_t kDepthwiseTileW = 4;  // depthwise.comp tile_w's default
// Of depthwise_line, whose loads a wider tile shares among more results: on an H200 2 % of
// recognition.
inline constexpr std::uint32_t kDepthwiseTileLine = 8;
// Fewer invocations than this leave a GPU idle: tiles are narrower then.
inline constexpr std::uint64_t kDepthwiseJobs = 1u << 16;

// What stem.comp holds in registers and in workgroup memory.
inline constexpr std::int64_t kStemMaxWindow = 5;
inline constexpr std::uint32_t kStemMaxVectors = 4;
// Of deconv_floats.comp, the same.
inline constexpr std::uint32_t kHeadMaxTaps = 16;
inline constexpr std::uint32_t kHeadMaxVectors = 64;
inline constexpr std::uint32_t kGemmTileM = 4;  // gemm_nc.comp TILE_M

// depthwise_line holds a piece of an input line in registers; wider kernels take the other form. A
// CPU driver gains nothing from it (10.9 GFLOP/s against 10.2 at 5 x 5) and compiles each width.
inline constexpr std::int64_t kDepthwiseLineMaxKw = 7;
inline constexpr std::int64_t kDepthwiseLineMaxStep = 2;

// Workgroup of gemm_nc.comp and its vectors of K in a tile. Two vectors of columns an invocation
// instead of one took three times as long on the H200 (3600 x 192 x 192: 51 us against 17).
struct GemmShape {
  std::uint32_t x, y, z, tile_k4;
};
// 128 invocations. As wide as it can be without empty columns: 48 columns run 8 % faster four
// vectors wide than eight.
constexpr GemmShape gemm_shape(std::uint32_t n4) {
  GemmShape best{4, 32, 1, 4};
  std::uint32_t least = (n4 + 3) / 4 * 4;
  for (std::uint32_t x : {8u, 16u}) {
    const std::uint32_t columns = (n4 + x - 1) / x * x;
    if (columns <= least) {
      best = {x, 128 / x, 1, 4};
      least = columns;
    }
  }
  return best;
}
inline constexpr std::uint32_t kGemmInvocations = 128;
// What the largest shape needs in single precision.
inline constexpr std::uint32_t kGemmSharedBytes = 16384;

inline constexpr std::uint32_t kGemmDefaultTileK4 = 4;  // of gemm_nc.comp

// With fewer workgroups than this, K is split over four layers of invocations, and tiles are
// deeper. H200 (132 multiprocessors): 900 x 384 x 384 in 19 us instead of 22, 3600 x 864 x 24 in 18
// instead of 24, 40 x 2880 x 60 in 33 instead of 99; but 3600 x 192 x 192, with 339, in 19 instead
// of 17.
inline constexpr std::uint32_t kGemmSplitBelowGroups = 256;
inline constexpr std::uint32_t kGemmSplitFromK4 = 8;
inline constexpr GemmShape kGemmSplit{8, 8, 4, 8};
// Few rows: half of the larger workgroup would stand idle.
inline constexpr std::uint32_t kGemmSplitLowRows = 64;
inline constexpr GemmShape kGemmSplitLow{8, 4, 4, 8};

// conv_subgroup.comp: LANES, TILE_P, TILE_N, and the local size. lavapipe's loads cost about 50
// cycles for each 8 lanes and vector, so weights are loaded once a subgroup: 40 GFLOP/s on two
// cores where gemm_reg reaches 4 to 9 (3600 x 192 x 192).
inline constexpr std::uint32_t kSubgroupLanes = 8;
inline constexpr std::uint32_t kSubgroupTileP = 2;
inline constexpr std::uint32_t kSubgroupTileN = 4;
inline constexpr std::uint32_t kSubgroupLocal = 8;

// Subgroups of a workgroup of gemm_coopmat.comp along K, M and N, the matrices that each computes,
// and the vectors of K in a tile.
struct MatrixTile {
  std::uint32_t groups_k, groups_m, groups_n, matrices_m, matrices_n, tile_k4;
};

// Few columns or a short K leave most of a matrix empty: the tiled form is faster then. H200: 24 us
// instead of 30 for 230400 x 36 x 16, 15 instead of 24 for 230400 x 24 x 16, 4.9 instead of 7.1 for
// 2304 x 88 x 16; but 15 instead of 19 by matrices for 57600 x 24 x 96.
constexpr bool matrices_pay(std::uint32_t k4, std::uint32_t n4) { return n4 >= 6 && k4 * n4 >= 40; }

// From a sweep of up to 727 tiles on the H200 (spirkiln-bench sweep), with matrices of 16 x 8 x 16.
// Microseconds, beside the best tile of the shape and gemm_nc:
//   57600 x 48 x 48     9.3   9.3  16.7      11520 x 240 x 240   19.2  19.2  69.0
//   14400 x 96 x 96     7.3   6.9  15.1      480 x 480 x 480      6.7   6.7  15.2
//   3600 x 192 x 192    6.7   6.6  16.3      960 x 240 x 240      5.0   5.0   9.8
//   5760 x 480 x 480   30.6  28.4   107      40 x 1440 x 60       9.8   9.8  40.8
constexpr MatrixTile matrix_tile(std::uint32_t rows, std::uint32_t k4, std::uint32_t n4,
                                 std::uint32_t matrix_n) {
  const std::uint32_t columns = (n4 * 4 + matrix_n - 1) / matrix_n;  // of matrices
  const std::uint32_t wide = matrix_n / 8;  // what stands below is in columns of 8
  // A few rows: subgroups share K, or the work of all columns is too little for the device.
  if (rows <= 64 && k4 >= 64) return {4, 1, 2, 1, 1, 32};
  if (rows <= 64) return {2, 1, 4, 2, 2 / wide, 16};
  const bool threes = columns * wide % 3 == 0 && columns * wide <= 24;
  const std::uint32_t matrices_n = (threes ? 3 : 4) / (threes ? 1 : wide);
  const std::uint32_t across = (columns + matrices_n - 1) / matrices_n;  // subgroups
  const std::uint32_t groups_n = across >= 4 ? 4 : across >= 2 ? 2 : 1;
  const std::uint32_t groups_m = groups_n == 1 ? 2 : 8 / groups_n;
  const std::uint32_t blocks =
      ((rows - 1) / (groups_m * 32) + 1) * ((columns - 1) / (groups_n * matrices_n) + 1);
  // Too few workgroups for 132 multiprocessors.
  if (blocks < 100 && k4 >= 48) {
    const std::uint32_t split = ((rows - 1) / 32 + 1) * ((columns * wide - 1) / 8 + 1);
    if (split < 64) return {4, 1, 2, 1, 1, 32};
    return {2, 1, 4, 2, 2 / wide, 32};
  }
  return {1, groups_m, groups_n, 2, matrices_n, k4 <= 32 ? 4u : 16u};
}

// Where a device has too little workgroup memory, or too small workgroups, for the tile above.
inline constexpr MatrixTile kMatrixLite{1, 2, 1, 1, 2, 4};
// Workgroup memory of gemm_coopmat.comp, in bytes; strides as there.
constexpr std::uint64_t matrix_shared_bytes(const MatrixTile& t, std::uint32_t matrix_m,
                                            std::uint32_t matrix_n) {
  const std::uint64_t own_n4 = t.matrices_n * matrix_n / 4;
  const std::uint64_t a = t.groups_m * t.matrices_m * matrix_m * (t.tile_k4 + 2ull);
  const std::uint64_t b = t.tile_k4 * 4ull * (t.groups_n * own_n4 + 2);
  const std::uint64_t c = t.groups_k * t.groups_m * t.groups_n * matrix_m * (own_n4 + 1);
  return 8 * (a + b) + 16 * c;
}

// Subgroups of a workgroup of conv_coopmat.comp and the matrices that each computes.
struct WindowTile {
  std::uint32_t groups, matrices_m, matrices_n;
};
// 240 x 240 x 96, 3 x 3 to 24 channels: 32.5 us with {4, 2, 3}, the best of all, where gemm_coopmat
// takes 62 and conv_nc 149. 30 x 30: 6.6 with {4, 1, 1}, 21 by conv_nc.
constexpr WindowTile window_tile(std::uint32_t n, std::uint32_t h, std::uint32_t w,
                                 std::uint32_t n4, std::uint32_t matrix_m, std::uint32_t matrix_n) {
  const std::uint32_t columns = n4 * 4 / matrix_n;
  const std::uint32_t most = columns % 3 == 0 ? 3 : columns % 2 == 0 ? 2 : 1;
  const auto tiles = [&](std::uint32_t lines) {
    return n * ((h - 1) / lines + 1) * ((w - 1) / matrix_m + 1);
  };
  if (tiles(8) >= 200) return {4, 2, most};
  if (tiles(4) >= 132) return {4, 1, most};
  return {4, 1, 1};
}

}  // namespace spirkiln::tuning
