// SPDX-License-Identifier: Apache-2.0
// Sizes that kernels have in their source. Whoever changes one here changes it there: results
// depend on it. What may be chosen freely is in variants/tuning.toml.
#pragma once

#include <cstdint>

namespace spirkiln::tuning {

// Storage buffers that squeeze_excite binds, and the bound of its workgroup memory (MAX_VECTORS of
// squeeze_excite.comp); beyond either it is two matrix products.
inline constexpr std::uint32_t kSqueezeBindings = 10;
inline constexpr std::uint32_t kSqueezeMaxVectors = 256;

// Storage buffers that excite binds; MAX_VECTORS of excite.comp is kSqueezeMaxVectors.
inline constexpr std::uint32_t kExciteBindings = 9;

// Inputs of concat's two forms (INPUTS of concat.comp), and what a form binds beside them: residual
// and output. A device of eight storage buffers takes the narrow form, several times where need be.
inline constexpr std::uint32_t kConcatWide = 8;
inline constexpr std::uint32_t kConcatNarrow = 4;
inline constexpr std::uint32_t kConcatOthers = 2;

// Vectors of a head in attention.comp: its query and result stay in registers.
inline constexpr std::uint32_t kAttentionMaxDim4 = 32;
// Invocations that share a row, in row_reduce.glsl: a power of two of at most this.
inline constexpr std::uint32_t kRowGroupMost = 256;

inline constexpr std::uint32_t kRegTileM = 4;  // gemm_reg.comp TILE_M
inline constexpr std::uint32_t kConvTileW = 4;  // conv_direct.comp TILE_W
inline constexpr std::uint32_t kDepthwiseTileW = 4;  // depthwise.comp tile_w's default

// What stem.comp holds in registers and in workgroup memory.
inline constexpr std::int64_t kStemMaxWindow = 5;
inline constexpr std::uint32_t kStemMaxVectors = 4;
// Workgroup memory of stem.comp in single precision, in bytes; arrays as there.
constexpr std::uint64_t stem_shared_bytes(std::uint32_t threads, std::uint32_t taps,
                                          std::uint32_t n4) {
  return 16 * (std::uint64_t{taps} * 3 * n4 + std::uint64_t{threads} * (n4 + 1 - n4 % 2));
}
// Of deconv_floats.comp, the same.
inline constexpr std::uint32_t kHeadMaxTaps = 16;
inline constexpr std::uint32_t kHeadMaxVectors = 64;
// With the word of bytes_out.glsl; each array begins at a multiple of 16.
constexpr std::uint64_t head_shared_bytes(std::uint32_t threads, std::uint32_t taps,
                                          std::uint32_t in4) {
  const std::uint64_t out = (std::uint64_t{threads} * (taps + 1) * 4 + 15) / 16 * 16;
  return 16 * std::uint64_t{taps} * in4 + out + 16;
}

// conv_subgroup.comp: LANES, TILE_P, TILE_N, and the local size.
inline constexpr std::uint32_t kSubgroupLanes = 8;
inline constexpr std::uint32_t kSubgroupTileP = 2;
inline constexpr std::uint32_t kSubgroupTileN = 4;
inline constexpr std::uint32_t kSubgroupLocal = 8;

inline constexpr std::uint32_t kGemmTileM = 4;  // gemm_nc.comp TILE_M
inline constexpr std::uint32_t kGemmDefaultTileK4 = 4;  // its tile_k4's default
// What a device has to have for it: every shape of its workgroup keeps to both.
inline constexpr std::uint32_t kGemmInvocations = 128;
inline constexpr std::uint32_t kGemmSharedBytes = 16384;

// Workgroup of gemm_nc.comp and its vectors of K in a tile. z, which is 1 or 4, shares K out.
struct GemmShape {
  std::uint32_t x, y, z, tile_k4;
};
// Workgroup memory of gemm_nc.comp in single precision, in bytes; arrays as there.
constexpr std::uint64_t gemm_shared_bytes(const GemmShape& s) {
  const std::uint64_t a = std::uint64_t{s.tile_k4} * (s.y * kGemmTileM + 2);
  const std::uint64_t b = std::uint64_t{s.x} * s.tile_k4 * 4;
  return 16 * (a + b + std::uint64_t{s.x} * s.y * kGemmTileM * ((s.z + 2) / 4) + 1);
}

// Subgroups of a workgroup of gemm_coopmat.comp along K, M and N, the matrices that each computes,
// and the vectors of K in a tile.
struct MatrixTile {
  std::uint32_t groups_k, groups_m, groups_n, matrices_m, matrices_n, tile_k4;
  bool operator==(const MatrixTile&) const = default;
};
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

// Storage buffers that separable_coopmat.comp binds, and the largest sides and steps of its
// windows.
inline constexpr std::uint32_t kSeparableBindings = 9;
inline constexpr std::int64_t kSeparableMaxWindow = 5;
inline constexpr std::int64_t kSeparableMaxStep = 2;

// Subgroups of a workgroup of separable_coopmat.comp along M and N, the matrices that each
// computes, the vectors of K in a tile of weights, and the pixels of a run of the depthwise
// convolution.
struct SeparableTile {
  std::uint32_t groups_m, groups_n, matrices_m, matrices_n, tile_k4, tile_w;
};
// Workgroup memory of separable_coopmat.comp, in bytes; strides as there.
constexpr std::uint64_t separable_shared_bytes(const SeparableTile& t, std::uint32_t in4,
                                               std::uint32_t matrix_m, std::uint32_t matrix_n) {
  const auto odd = [](std::uint64_t v) { return v + 1 - v % 2; };
  const std::uint64_t k4 = (in4 + t.tile_k4 - 1) / t.tile_k4 * t.tile_k4;
  const std::uint64_t own_n4 = t.matrices_n * matrix_n / 4;
  const std::uint64_t a =
      std::uint64_t{t.groups_m} * t.matrices_m * matrix_m * (k4 + 2 - k4 / 2 % 2 * 2);
  const std::uint64_t b = t.tile_k4 * 4 * odd(t.groups_n * own_n4 / 2);
  const std::uint64_t c = std::uint64_t{t.groups_m} * t.groups_n * matrix_m * odd(own_n4);
  return 8 * a + 16 * (b > c ? b : c);
}

// Storage buffers that transformer_coopmat.comp binds, and what it holds in registers and workgroup
// memory: channels of a head, heads (a subgroup each), blocks of 16 rows in a line, channels, and
// columns between the last two products.
inline constexpr std::uint32_t kTransformerBindings = 20;
inline constexpr std::int32_t kTransformerHead = 16;
inline constexpr std::int32_t kTransformerMaxHeads = 16;
inline constexpr std::uint32_t kTransformerMostBlocks = 4, kTransformerLeastBlocks = 3;
inline constexpr std::uint32_t kTransformerMaxChannels = 256;
inline constexpr std::uint32_t kTransformerMaxHidden = 512;

struct TransformerShape {
  std::uint32_t heads, c4, hidden4, blocks;
};
// Workgroup memory of transformer_coopmat.comp, in bytes; regions and strides as there.
constexpr std::uint64_t transformer_shared_bytes(const TransformerShape& t,
                                                 std::uint32_t subgroup) {
  const std::uint64_t x_stride = (t.c4 + 3) / 4 * 2 + 1, o_stride = t.heads * 2 + 1,
                      h_stride = (t.hidden4 + 3) / 4 * 2 + 1, own = 16 * 9;
  const std::uint64_t shares = subgroup > 16 ? subgroup / 16 : 1;
  const std::uint64_t rows = 16 * (t.blocks * 4 + (shares + 1) / 2);
  const std::uint64_t first = t.blocks * 16 * x_stride + t.heads * own;
  const std::uint64_t scores = t.heads * (rows > own ? rows : own);
  const std::uint64_t norm = t.heads * own + 16ull * t.c4;
  const std::uint64_t larger = first > scores ? first : scores;
  const std::uint64_t end = (larger > norm ? larger : norm) + 16 * o_stride;
  const std::uint64_t end_2 = norm + 16 * x_stride + 16 * h_stride;
  return 16 * (end > end_2 ? end : end_2);
}

}  // namespace spirkiln::tuning
