// SPDX-License-Identifier: Apache-2.0
// What lowering chooses by, as plain data: variants/tuning.toml, which has the reason and the
// measurement of each number and rule, made a table by `spirkiln tuning` during the build.
// Correctness depends on none of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "graph/lower/kernel_sizes.hpp"

namespace spirkiln::tuning {

// One value for CPU drivers and one for all others. The file says what each is.
struct Numbers {
  std::uint32_t linear_group, linear_group_wide;
  std::uint64_t linear_group_wide_from;
  std::uint32_t sharing_group, norm_group, softmax_group;
  std::uint32_t mean_piece, mean_max_pieces, mean_x, mean_y;
  bool mean_in_gate;
  std::uint64_t gate_mean_vectors, scale_max_vectors;
  std::uint32_t scale_vectors;
  std::uint64_t excite_max_vectors;
  std::uint32_t squeeze_x, squeeze_y, squeeze_piece, squeeze_max_pieces;
  std::uint32_t excite_x, excite_y, excite_vectors, excite_max_groups;
  std::uint32_t attention_queries, attention_parts, attention_block;
  bool stem;
  std::uint32_t depthwise_tile, depthwise_tile_line, depthwise_line_max_kw, depthwise_line_max_step;
  std::uint64_t depthwise_jobs;
};

// What a rule may ask about, by the names that the file has for it.
enum class Fact : std::uint8_t {
  kSoftware,       // device: 1 on a CPU driver
  kInvocations,    // of a workgroup, at most
  kSharedBytes,    // of workgroup memory
  kMatrixM,        // rows and columns of the device's matrices
  kMatrixN,
  kRows,           // of a product: pixels of the output
  kK4,             // vectors of four along K, and of columns
  kN4,
  kK4N4,           // k4 * n4
  kMatrixColumns,  // columns in matrices, rounded up
  kEmptyColumns,   // vectors of columns that the rule's own shape would compute in vain
  kGroups,         // workgroups of what was chosen so far
  kOwnGroups,      // workgroups of the rule's own choice
  kMiddle4,        // vectors between the two layers of a gate
  kWindowW,        // width of the depthwise convolution's window
};

// Holds for from <= fact <= to that are multiples of multiple_of.
struct Condition {
  Fact fact = Fact::kSoftware;
  std::uint64_t from = 0, to = ~std::uint64_t{0};
  std::uint32_t multiple_of = 1;
};
inline constexpr std::size_t kMaxConditions = 6;

// All conditions have to hold. In a list the first rule that holds is taken; the last one of a
// list that has to give something has no condition.
template <typename Choice>
struct Rule {
  Condition conditions[kMaxConditions];
  std::uint32_t count;
  Choice choice;
};

// Which family of matrix kernels takes a product.
enum class Family : std::uint8_t {
  kMatrix,    // gemm_coopmat.comp
  kSubgroup,  // conv_subgroup.comp; wrong, not only slow, on another subgroup size
  kTiled,     // gemm_nc.comp
  kPlain,     // gemm_reg.comp, conv_direct.comp: runs anywhere
};

// A MatrixTile for matrices of 8 and of 16 columns.
struct MatrixTileChoice {
  std::uint32_t groups_k, groups_m, groups_n, matrices_m, matrices_n8, matrices_n16, tile_k4;
  constexpr MatrixTile tile(std::uint32_t matrix_n) const {
    return {groups_k, groups_m, groups_n, matrices_m, matrix_n == 16 ? matrices_n16 : matrices_n8,
            tile_k4};
  }
};

// A SeparableTile the same way; groups_n at most, and tile_k4 where K is as long.
struct SeparableTileChoice {
  std::uint32_t groups_m, groups_n, matrices_m, matrices_n8, matrices_n16, tile_k4, tile_w;
};

struct GateGroup {  // the workgroup of squeeze_excite.comp
  std::uint32_t x, y;
};

struct Tuning {
  Numbers gpu, software;
  std::span<const Rule<Family>> product;
  // Where the shape gives few workgroups, a rule of the second list may put another in its place.
  std::span<const Rule<GemmShape>> tiled_shape, tiled_split;
  std::span<const Rule<MatrixTileChoice>> matrix_tile, matrix_split, matrix_lite;
  std::span<const Rule<WindowTile>> window_tile;
  // Where no rule holds, two steps are faster.
  std::span<const Rule<SeparableTileChoice>> separable_tile;
  std::span<const Rule<GateGroup>> gate_group;
  const Numbers& numbers(bool of_software) const { return of_software ? software : gpu; }
};

// The first rule that holds; null where none does. `fact(Fact, Choice)` gives a fact's value, which
// may depend on the rule's own choice.
template <typename Choice, typename FactOf>
constexpr const Choice* first_of(std::span<const Rule<Choice>> rules, const FactOf& fact) {
  for (const Rule<Choice>& rule : rules) {
    bool holds = true;
    for (std::uint32_t i = 0; i < rule.count && holds; ++i) {
      const Condition& c = rule.conditions[i];
      const std::uint64_t value = fact(c.fact, rule.choice);
      holds = value >= c.from && value <= c.to && value % c.multiple_of == 0;
    }
    if (holds) return &rule.choice;
  }
  return nullptr;
}

// That of variants/tuning.toml.
const Tuning& built_in();

// A product of rows x k4 vectors by k4 vectors x n4 vectors of columns.
struct Product {
  std::uint32_t rows, k4, n4;
};

// The choices of lists that need nothing but the product and the size of matrices.
MatrixTile matrix_tile(const Tuning& t, const Product& p, std::uint32_t matrix_m,
                       std::uint32_t matrix_n);
MatrixTile matrix_lite(const Tuning& t, const Product& p, std::uint32_t matrix_n);
GemmShape tiled_shape(const Tuning& t, const Product& p);
// `groups`: what the shape above gives. Null where it stays.
const GemmShape* tiled_split(const Tuning& t, const Product& p, std::uint64_t groups);
// A picture of n x h x w pixels and n4 vectors of columns.
WindowTile window_tile(const Tuning& t, std::uint32_t n, std::uint32_t h, std::uint32_t w,
                       std::uint32_t n4, std::uint32_t matrix_m, std::uint32_t matrix_n);
// Of a depthwise convolution with a window of this width and the pointwise one behind it; null
// where two steps are faster.
std::optional<SeparableTile> separable_tile(const Tuning& t, const Product& p,
                                            std::uint32_t window_w, std::uint32_t matrix_m,
                                            std::uint32_t matrix_n);

}  // namespace spirkiln::tuning
