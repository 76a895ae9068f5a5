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

// Pixels that one invocation of mean_partial adds.
inline constexpr std::uint32_t kMeanPiece = 64;

// Invocations of the squeeze-and-excite workgroup, and the bound of its workgroup memory
// (MAX_VECTORS of squeeze_excite.comp).
inline constexpr std::uint32_t kSqueezeGroup = 128;
inline constexpr std::uint32_t kSqueezeGroupSoftware = 16;
inline constexpr std::uint32_t kSqueezeMaxVectors = 512;

// Positions of a workgroup in attention; halved until they fit the device.
inline constexpr std::uint32_t kAttentionQueries = 8;
// Vectors of a head: its query and result stay in registers.
inline constexpr std::uint32_t kAttentionMaxDim4 = 32;

// Register tiles, as the kernels have them.
inline constexpr std::uint32_t kRegTileM = 4;  // gemm_reg.comp TILE_M
inline constexpr std::uint32_t kConvTileW = 4;  // conv_direct.comp TILE_W
inline constexpr std::uint32_t kDepthwiseTileW = 4;  // depthwise.comp TILE_W
inline constexpr std::uint32_t kGemmTileM = 4;  // gemm_nc.comp TILE_M, TILE_N
inline constexpr std::uint32_t kGemmTileN = 2;

inline constexpr std::uint32_t kGemmThreads = 64;          // of every GemmShape
inline constexpr std::uint32_t kGemmSharedBytes = 16384;  // what the largest of them may need

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
