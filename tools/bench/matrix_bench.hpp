// SPDX-License-Identifier: Apache-2.0
// Times one convolution with every tile of the matrix kernels, and checks each result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spirkiln/spirkiln.hpp"

namespace spirkiln::bench {

struct MatrixShapeOption {
  std::uint32_t n = 1, h = 1, w = 1, c = 0;  // of the input
  std::uint32_t kh = 1, kw = 1, out = 0;     // stride 1, same size
};

// "60x60x192:1x1x192": height, width and channels of the input, the window, channels of the output.
// Nothing for other texts and for more than 2^26 numbers a tensor.
std::optional<MatrixShapeOption> parse_matrix_shape(const std::string& text);

struct MatrixRow {
  std::string tile;
  bool baseline = false;  // what the device would run without matrices
  // Least of all rounds, of repeats that wait for each other.
  double us = 0;
  double tflops = 0;
  double max_error = 0;  // against double precision, relative to the largest value, over a sample
  std::string error;  // why this way does not run
};

// All ways, fastest first: warm, one after the other in every round. Errors: no table, no device
// memory, or a device that stops.
Result<std::vector<MatrixRow>> bench_matrix(const Device& device, const MatrixShapeOption& shape);

}  // namespace spirkiln::bench
