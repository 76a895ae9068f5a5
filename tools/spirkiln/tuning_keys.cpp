// SPDX-License-Identifier: Apache-2.0
#include "tuning_keys.hpp"

namespace spirkiln::gen {
namespace {

using tuning::Fact;
using tuning::Family;
using tuning::Numbers;

constexpr std::uint64_t kGroup = 1024;  // invocations of a workgroup, at most
constexpr std::uint64_t kVectors = std::uint64_t{1} << 31;
constexpr std::uint32_t kRowMost = tuning::kRowGroupMost;

constexpr NumberKey kNumbers[] = {
    {"linear_group", &Numbers::linear_group, 1, kGroup},
    {"linear_group_wide", &Numbers::linear_group_wide, 1, kGroup},
    {"linear_group_wide_from", &Numbers::linear_group_wide_from, 0, kVectors},
    {"sharing_group", &Numbers::sharing_group, 1, kGroup},
    {"norm_group", &Numbers::norm_group, 1, kRowMost, true},
    {"softmax_group", &Numbers::softmax_group, 1, kRowMost, true},
    {"mean_piece", &Numbers::mean_piece, 1, 1u << 20},
    {"mean_max_pieces", &Numbers::mean_max_pieces, 1, 1u << 20},
    {"mean_x", &Numbers::mean_x, 1, 64},
    {"mean_y", &Numbers::mean_y, 1, 64},
    {"mean_in_gate", &Numbers::mean_in_gate, 0, 1},
    {"gate_mean_vectors", &Numbers::gate_mean_vectors, 0, kVectors},
    {"scale_max_vectors", &Numbers::scale_max_vectors, 0, kVectors},
    {"scale_vectors", &Numbers::scale_vectors, 1, 1u << 10},
    {"excite_max_vectors", &Numbers::excite_max_vectors, 0, kVectors},
    {"squeeze_x", &Numbers::squeeze_x, 1, 64},
    {"squeeze_y", &Numbers::squeeze_y, 1, 64},
    {"squeeze_piece", &Numbers::squeeze_piece, 1, 1u << 20},
    {"squeeze_max_pieces", &Numbers::squeeze_max_pieces, 1, 1u << 10},
    {"excite_x", &Numbers::excite_x, 1, 64},
    {"excite_y", &Numbers::excite_y, 1, 64},
    {"excite_vectors", &Numbers::excite_vectors, 1, 1u << 10},
    {"excite_max_groups", &Numbers::excite_max_groups, 1, 1u << 16},
    {"attention_queries", &Numbers::attention_queries, 1, 64, true},
    {"attention_parts", &Numbers::attention_parts, 1, 64, true},
    {"attention_block", &Numbers::attention_block, 1, 16},
    {"stem", &Numbers::stem, 0, 1},
    {"depthwise_tile", &Numbers::depthwise_tile, 1, 16, true},
    {"depthwise_tile_line", &Numbers::depthwise_tile_line, 1, 16, true},
    {"depthwise_line_max_kw", &Numbers::depthwise_line_max_kw, 0, 64},
    {"depthwise_line_max_step", &Numbers::depthwise_line_max_step, 0, 64},
    {"depthwise_jobs", &Numbers::depthwise_jobs, 0, kVectors},
};

constexpr FactKey kFacts[] = {
    {"device", Fact::kSoftware, "Fact::kSoftware"},
    {"invocations", Fact::kInvocations, "Fact::kInvocations"},
    {"shared_bytes", Fact::kSharedBytes, "Fact::kSharedBytes"},
    {"matrix_m", Fact::kMatrixM, "Fact::kMatrixM"},
    {"matrix_n", Fact::kMatrixN, "Fact::kMatrixN"},
    {"rows", Fact::kRows, "Fact::kRows"},
    {"k4", Fact::kK4, "Fact::kK4"},
    {"n4", Fact::kN4, "Fact::kN4"},
    {"k4_n4", Fact::kK4N4, "Fact::kK4N4"},
    {"matrix_columns", Fact::kMatrixColumns, "Fact::kMatrixColumns"},
    {"empty_columns", Fact::kEmptyColumns, "Fact::kEmptyColumns"},
    {"groups", Fact::kGroups, "Fact::kGroups"},
    {"own_groups", Fact::kOwnGroups, "Fact::kOwnGroups"},
    {"middle4", Fact::kMiddle4, "Fact::kMiddle4"},
    {"window_w", Fact::kWindowW, "Fact::kWindowW"},
};

constexpr FamilyKey kFamilies[] = {
    {"matrix", Family::kMatrix, "Family::kMatrix"},
    {"subgroup", Family::kSubgroup, "Family::kSubgroup"},
    {"tiled", Family::kTiled, "Family::kTiled"},
    {"plain", Family::kPlain, "Family::kPlain"},
};

constexpr ChoiceKey<tuning::GemmShape> kGemmShape[] = {
    {"x", &tuning::GemmShape::x, 1, 64},
    {"y", &tuning::GemmShape::y, 1, 64},
    {"z", &tuning::GemmShape::z, 1, 4},
    {"tile_k4", &tuning::GemmShape::tile_k4, 1, 64},
};
constexpr ChoiceKey<tuning::MatrixTileChoice> kMatrixTile[] = {
    {"groups_k", &tuning::MatrixTileChoice::groups_k, 1, 8},
    {"groups_m", &tuning::MatrixTileChoice::groups_m, 1, 8},
    {"groups_n", &tuning::MatrixTileChoice::groups_n, 1, 8},
    {"matrices_m", &tuning::MatrixTileChoice::matrices_m, 1, 8},
    {"matrices_n", &tuning::MatrixTileChoice::matrices_n8, 1, 8},
    {"tile_k4", &tuning::MatrixTileChoice::tile_k4, 4, 128},
};
constexpr ChoiceKey<tuning::WindowTile> kWindowTile[] = {
    {"groups", &tuning::WindowTile::groups, 1, 16},
    {"matrices_m", &tuning::WindowTile::matrices_m, 1, 8},
    {"matrices_n", &tuning::WindowTile::matrices_n, 1, 8},
};
constexpr ChoiceKey<tuning::SeparableTileChoice> kSeparableTile[] = {
    {"groups_m", &tuning::SeparableTileChoice::groups_m, 1, 8},
    {"groups_n", &tuning::SeparableTileChoice::groups_n, 1, 8},
    {"matrices_m", &tuning::SeparableTileChoice::matrices_m, 1, 8},
    {"matrices_n", &tuning::SeparableTileChoice::matrices_n8, 1, 8},
    {"tile_k4", &tuning::SeparableTileChoice::tile_k4, 4, 64},
    {"tile_w", &tuning::SeparableTileChoice::tile_w, 1, 8, true},
};
constexpr ChoiceKey<tuning::GateGroup> kGateGroup[] = {
    {"x", &tuning::GateGroup::x, 1, 64},
    {"y", &tuning::GateGroup::y, 1, 64},
};

}  // namespace

std::span<const NumberKey> number_keys() { return kNumbers; }
std::span<const FactKey> fact_keys() { return kFacts; }
std::span<const FamilyKey> family_keys() { return kFamilies; }
template <>
std::span<const ChoiceKey<tuning::GemmShape>> choice_keys() {
  return kGemmShape;
}
template <>
std::span<const ChoiceKey<tuning::MatrixTileChoice>> choice_keys() {
  return kMatrixTile;
}
template <>
std::span<const ChoiceKey<tuning::WindowTile>> choice_keys() {
  return kWindowTile;
}
template <>
std::span<const ChoiceKey<tuning::SeparableTileChoice>> choice_keys() {
  return kSeparableTile;
}
template <>
std::span<const ChoiceKey<tuning::GateGroup>> choice_keys() {
  return kGateGroup;
}

}  // namespace spirkiln::gen
