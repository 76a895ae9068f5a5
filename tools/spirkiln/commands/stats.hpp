// SPDX-License-Identifier: Apache-2.0
// --stats: counts, sizes and time.
#pragma once

#include <chrono>

#include "commands.hpp"

namespace spirkiln::gen {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Where it was asked for; the exit status.
int print_stats(const StatsArguments& arguments, const BakeStats& stats, const Stopwatch& watch);

}  // namespace spirkiln::gen
