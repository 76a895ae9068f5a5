// SPDX-License-Identifier: Apache-2.0
// One matrix product by every kernel and form that a device may run, against double precision.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spirkiln/spirkiln.hpp"

namespace spirkiln::bench {

struct GemmShape {
  std::uint32_t m = 0, n = 0, k = 0;  // C[m][n] = A[m][k] * B[k][n]
};

struct GemmOptions {
  GemmShape shape;
  std::vector<std::string> forms;  // of buffers; none: all five
  std::uint32_t rounds = 8;        // all ways take turns in each; the least counts
  double ms = 20;                  // that a run takes, about: up to 20 repeats of one dispatch
  double warm_ms = 300;
};

struct GemmRow {
  std::string variant, form;
  std::string refused;  // why it does not run; the rest is 0 then
  double us = 0, gflops = 0;
  // Of the results that were compared. Relative ones are in units of the storage's rounding step
  // (2^-24 of fp32, 2^-11 of halves) of the sum of the products' magnitudes: what rounding does,
  // whatever cancels.
  double max_error = 0, mean_error = 0, max_steps = 0, mean_steps = 0;
  // More than rounding can do, by the bound of (k + 8) roundings of the arithmetic.
  bool wrong = false;
  // Rows of one number have the same bits.
  std::uint32_t bits = 0;
};

struct GemmReport {
  std::string device, driver;
  GemmShape shape;
  std::uint64_t compared = 0;  // results of each way: all of the product, or whole rows of it
  std::vector<GemmRow> rows;   // fastest first
};

// Errors: kInvalidArgument for a form that is none; no table, no memory, no timestamps; a device
// that stops.
Result<GemmReport> bench_gemm(const Device& device, const GemmOptions& options);

std::string gemm_text(const GemmReport& report);
std::string gemm_json(const GemmReport& report);

}  // namespace spirkiln::bench
