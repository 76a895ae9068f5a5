// SPDX-License-Identifier: Apache-2.0
// variants/tuning.toml, read and checked (variants/README.md is its reference), and the header that
// the runtime compiles it as.
#pragma once

#include <string>
#include <vector>

#include "files.hpp"
#include "graph/lower/tuning.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln::gen {

// The lists of tuning::Tuning, which points into this.
struct TuningFile {
  tuning::Numbers gpu{}, software{};
  std::vector<tuning::Rule<tuning::Family>> product;
  std::vector<tuning::Rule<tuning::GemmShape>> tiled_shape, tiled_split;
  std::vector<tuning::Rule<tuning::MatrixTileChoice>> matrix_tile, matrix_split, matrix_lite;
  std::vector<tuning::Rule<tuning::WindowTile>> window_tile;
  std::vector<tuning::Rule<tuning::SeparableTileChoice>> separable_tile;
  std::vector<tuning::Rule<tuning::GateGroup>> gate_group;

  tuning::Tuning view() const {
    return {gpu,          software,    product,     tiled_shape,    tiled_split, matrix_tile,
            matrix_split, matrix_lite, window_tile, separable_tile, gate_group};
  }
};

// An Error's message is one or more lines "file:line:column: error: ...".
Result<TuningFile> parse_tuning(const SourceFile& file);

// C++ that defines spirkiln::tuning::kTable, a constexpr Tuning. The same file gives the same text.
std::string tuning_header(const TuningFile& file);

}  // namespace spirkiln::gen
