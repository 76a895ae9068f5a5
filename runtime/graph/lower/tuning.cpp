// SPDX-License-Identifier: Apache-2.0
#include "graph/lower/tuning.hpp"

#include <algorithm>

#include "tuning_table.hpp"  // the build made it of variants/tuning.toml

namespace spirkiln::tuning {
namespace {

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

// Facts that every list about products may ask for.
std::uint64_t of_product(const Product& p, Fact fact) {
  switch (fact) {
    case Fact::kRows:
      return p.rows;
    case Fact::kK4:
      return p.k4;
    case Fact::kN4:
      return p.n4;
    case Fact::kK4N4:
      return std::uint64_t{p.k4} * p.n4;
    default:
      return 0;
  }
}

std::uint64_t matrix_columns(std::uint32_t n4, std::uint32_t matrix_n) {
  return ceil_div(std::uint64_t{n4} * 4, matrix_n);
}

// Of matrices of 16 rows, those that the rules were measured with; others keep to the same tiles.
std::uint64_t groups_of(const MatrixTile& t, const Product& p, std::uint32_t matrix_n) {
  return ceil_div(p.rows, std::uint64_t{t.groups_m} * t.matrices_m * 16) *
         ceil_div(matrix_columns(p.n4, matrix_n), std::uint64_t{t.groups_n} * t.matrices_n);
}

}  // namespace

const Tuning& built_in() { return kTable; }

MatrixTile matrix_tile(const Tuning& t, const Product& p, std::uint32_t matrix_m,
                       std::uint32_t matrix_n) {
  std::uint64_t groups = 0;
  const auto fact = [&](Fact f, const MatrixTileChoice& own) -> std::uint64_t {
    if (f == Fact::kMatrixM) return matrix_m;
    if (f == Fact::kMatrixN) return matrix_n;
    if (f == Fact::kMatrixColumns) return matrix_columns(p.n4, matrix_n);
    if (f == Fact::kGroups) return groups;
    if (f == Fact::kOwnGroups) return groups_of(own.tile(matrix_n), p, matrix_n);
    return of_product(p, f);
  };
  const MatrixTile tile = first_of(t.matrix_tile, fact)->tile(matrix_n);
  groups = groups_of(tile, p, matrix_n);
  const MatrixTileChoice* split = first_of(t.matrix_split, fact);
  return split == nullptr ? tile : split->tile(matrix_n);
}

MatrixTile matrix_lite(const Tuning& t, const Product& p, std::uint32_t matrix_n) {
  return first_of(t.matrix_lite, [&](Fact f, const auto&) { return of_product(p, f); })
      ->tile(matrix_n);
}

GemmShape tiled_shape(const Tuning& t, const Product& p) {
  return *first_of(t.tiled_shape, [&](Fact f, const GemmShape& own) {
    if (f == Fact::kEmptyColumns) return ceil_div(p.n4, own.x) * own.x - p.n4;
    return of_product(p, f);
  });
}

const GemmShape* tiled_split(const Tuning& t, const Product& p, std::uint64_t groups) {
  return first_of(t.tiled_split, [&](Fact f, const GemmShape&) {
    return f == Fact::kGroups ? groups : of_product(p, f);
  });
}

WindowTile window_tile(const Tuning& t, std::uint32_t n, std::uint32_t h, std::uint32_t w,
                       std::uint32_t n4, std::uint32_t matrix_m, std::uint32_t matrix_n) {
  return *first_of(t.window_tile, [&](Fact f, const WindowTile& own) -> std::uint64_t {
    if (f == Fact::kMatrixM) return matrix_m;
    if (f == Fact::kMatrixN) return matrix_n;
    if (f == Fact::kMatrixColumns) return matrix_columns(n4, matrix_n);
    if (f == Fact::kN4) return n4;
    return n * ceil_div(h, std::uint64_t{own.groups} * own.matrices_m) * ceil_div(w, matrix_m);
  });
}
std::optional<SeparableTile> separable_tile(const Tuning& t, const Product& p,
                                            std::uint32_t window_w, std::uint32_t matrix_m,
                                            std::uint32_t matrix_n) {
  const SeparableTileChoice* c =
      first_of(t.separable_tile, [&](Fact f, const SeparableTileChoice&) -> std::uint64_t {
        if (f == Fact::kMatrixM) return matrix_m;
        if (f == Fact::kMatrixN) return matrix_n;
        return f == Fact::kWindowW ? window_w : of_product(p, f);
      });
  if (c == nullptr) return std::nullopt;
  const std::uint32_t matrices_n = matrix_n == 16 ? c->matrices_n16 : c->matrices_n8;
  // Columns in equal shares.
  const auto across =
      static_cast<std::uint32_t>(ceil_div(matrix_columns(p.n4, matrix_n), matrices_n));
  const auto shares = static_cast<std::uint32_t>(ceil_div(across, c->groups_n));
  return SeparableTile{c->groups_m,
                       static_cast<std::uint32_t>(ceil_div(across, shares)),
                       c->matrices_m,
                       matrices_n,
                       std::min(c->tile_k4, (p.k4 + 3) / 4 * 4),
                       c->tile_w};
}

}  // namespace spirkiln::tuning
