// SPDX-License-Identifier: Apache-2.0
// The dispatches of a graph: what each takes, of the whole and against what the device could do.
#pragma once

#include <string>
#include <vector>

#include "peaks.hpp"

namespace spirkiln::bench {

struct ProfRow {
  StepTime step;
  double share = 0;     // of the sum of all rows
  double floor_us = 0;  // the longer of bytes at the rate of a copy and operations at the peak
  bool by_bytes = true;  // which of the two it is
  double of_roofline = 0;  // floor_us / step.us: 1 is as fast as the device can be
};

struct KernelSum {
  std::string kernel;
  std::uint32_t dispatches = 0;
  double us = 0, share = 0, floor_us = 0;
};

struct ProfReport {
  std::string device, driver, pack, shape, variant;
  Peaks peaks;
  double run_us = 0;  // the least of whole runs on the device, without the copy to the host
  double sum_us = 0, floor_us = 0;  // of all rows
  std::vector<ProfRow> rows;        // in the order in which they run
  std::vector<KernelSum> kernels;   // the longest first
};

// Sets rows, sums and kernels.
void add_rows(const std::vector<StepTime>& steps, ProfReport* report);

// `top`: of the longest dispatches so many are printed; 0: all, in the order in which they run.
std::string prof_text(const ProfReport& report, std::size_t top);
std::string prof_json(const ProfReport& report);

}  // namespace spirkiln::bench
