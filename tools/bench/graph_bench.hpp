// SPDX-License-Identifier: Apache-2.0
// Times one packed graph at one input shape in several forms, interleaved, and says how far apart
// their results are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spirkiln/spirkiln.hpp"

namespace spirkiln::bench {

struct GraphBenchOptions {
  std::string pack;
  std::uint32_t n = 1, h = 0, w = 0;
  std::vector<std::string> variants;  // the first one is what the others are compared with
  std::uint32_t runs = 50;            // timed ones, after `warm_ms` of untimed ones
  double warm_ms = 500;
  std::uint32_t seed = 1;             // of the picture
  std::string raw;                    // a file with its bytes instead, as picture_bytes() has it
  bool best_class = false;            // results as GraphOptions::best_class has them
  bool bytes = false;                 // and as GraphOptions::bytes
  std::uint32_t threads = 0;          // of the CPU backend, which has one form without a name
};

struct GraphBenchRow {
  std::string variant;
  std::string error;        // why this form did not run; the rest is 0 then
  double first_ms = 0;      // first call: plan, pipelines, weights, run
  double wall_ms = 0, wall_min_ms = 0, wall_p95_ms = 0;  // median, minimum, 95th percentile
  double gpu_ms = 0;        // median
  double kernels_ms = 0;    // median, without the copy of the results to the host
  double cpu_ms = 0;        // processor time of this process, of all threads: median
  std::uint32_t dispatches = 0;
  std::uint64_t device_bytes = 0;
  double max_abs = 0;       // largest difference from the first form's result
};

// Errors: the pack cannot be read, or the first form does not run.
Result<std::vector<GraphBenchRow>> bench_graph(const Device& device,
                                               const GraphBenchOptions& options,
                                               const MessageCallback& message = {});

}  // namespace spirkiln::bench
