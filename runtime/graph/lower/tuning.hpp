// SPDX-License-Identifier: Apache-2.0
// Every number by which lowering chooses between forms of a kernel, with the reason. Correctness
// depends on none of them.
#pragma once

#include <cstdint>

namespace spirkiln::tuning {

// Invocations of a workgroup in jobs where each works for itself. Two subgroups of 32 or one of 64.
inline constexpr std::uint32_t kLinearGroup = 64;
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

// Positions of a workgroup in attention; halved until they fit the device.
inline constexpr std::uint32_t kAttentionQueries = 8;
// Keys whose loads overlap. A CPU driver has nothing to overlap and compiles four times the code.
inline constexpr std::uint32_t kAttentionBlock = 4;
// Vectors of a head: its query and result stay in registers.
inline constexpr std::uint32_t kAttentionMaxDim4 = 32;

// Register tiles, as the kernels have them.
inline constexpr std::uint32_t kRegTileM = 4;  // gemm_reg.comp TILE_M
inline constexpr std::uint32_t kConvTileW = 4;  // conv_direct.comp TILE_W
inline constexpr std::uint32_t kDepthwiseTileW = 4;  // depthwise.comp TILE_W
inline constexpr std::uint32_t kGemmTileM = 4;  // gemm_nc.comp TILE_M, TILE_N
inline constexpr std::uint32_t kGemmTileN = 2;

// Invocations of every GemmShape, and the workgroup memory that the largest of them may need.
inline constexpr std::uint32_t kGemmThreads = 64;
inline constexpr std::uint32_t kGemmSharedBytes = 16384;
// With fewer workgroups than this and at least so many steps of K, K is split over four layers of
// invocations. On the H200 (132 multiprocessors) 40 x 2880 x 60 took 228 us in one layer.
inline constexpr std::uint32_t kGemmSplitBelowGroups = 600;
inline constexpr std::uint32_t kGemmSplitFromK4 = 8;
inline constexpr std::uint32_t kGemmSplitLayers = 4;
inline constexpr std::uint32_t kGemmSplitSharedBytes = 24576;

// conv_subgroup.comp: LANES, TILE_P, TILE_N, and the local size. lavapipe's loads cost about 50
// cycles for each 8 lanes and vector, so weights are loaded once a subgroup: 40 GFLOP/s on two
// cores where gemm_reg reaches 4 to 9 (3600 x 192 x 192).
inline constexpr std::uint32_t kSubgroupLanes = 8;
inline constexpr std::uint32_t kSubgroupTileP = 2;
inline constexpr std::uint32_t kSubgroupTileN = 4;
inline constexpr std::uint32_t kSubgroupLocal = 8;

// Workgroup of gemm_nc: wide where there are many columns, tall where there are few.
struct GemmShape {
  std::uint32_t x, y;
};
constexpr GemmShape gemm_shape(std::uint32_t n4) {
  if (n4 <= 4) return {2, 32};
  if (n4 <= 8) return {4, 16};
  return {8, 8};
}

}  // namespace spirkiln::tuning
