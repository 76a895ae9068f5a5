// SPDX-License-Identifier: Apache-2.0
// Dispatches with what they are predicted to move, as lines of a file: made where kernels can be
// instrumented, read where they are timed, which needs neither the generator nor the sources.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln::access {

struct PredictedImage {
  std::uint32_t key = 0;
  std::uint32_t width = 1, height = 1, depth = 1;
  std::uint32_t texel_bytes = 4, format = 0, type = 1;  // VkFormat, VkImageType
  std::uint32_t linear = 0;
};

struct Prediction {
  std::string label;    // the words that asked for it
  std::string variant;  // of a table
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> specs;  // id, bits
  std::vector<std::uint32_t> push;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> buffers;  // set << 16 | binding, bytes
  std::vector<PredictedImage> images;
  double moved = 0;    // bytes, all groups
  double touched = 0;  // bytes of distinct sectors, all groups
  double flops = 0;
  // What each level of memory takes (levels.hpp); 0 where the device's rates were not known.
  double line_us = 0, cache_us = 0, memory_us = 0;
  double us() const { return std::max({line_us, cache_us, memory_us}); }
};

std::string prediction_line(const Prediction& p);
// Errors: kInvalidArgument with the line's number.
Result<std::vector<Prediction>> parse_predictions(std::string_view text);

// Spearman's coefficient, with the mean rank for ties; 0 for fewer than two values.
double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace spirkiln::access
