// SPDX-License-Identifier: Apache-2.0
// Rules over the figures: what is badly asked for, and what usually helps.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "analyse.hpp"

namespace spirkiln::access {

// Below this part of the ideal (SiteFigures::packing) a site is told of.
inline constexpr double kLeastPacking = 0.8;
// Steps of workgroup memory, in the mean of a site's requests.
inline constexpr double kMostConflict = 1.25;

struct Advice {
  std::string_view rule;  // "pad-row"; static storage
  std::size_t site = 0;   // of Figures::sites; their number: the whole kernel
  bool fault = false;     // lint fails on it; else it is a hint
  std::string text;
};

std::vector<Advice> advise(const Figures& figures, const std::array<std::uint32_t, 3>& local_size);

}  // namespace spirkiln::access
