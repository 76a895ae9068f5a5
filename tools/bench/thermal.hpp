// SPDX-License-Identifier: Apache-2.0
// How hot the machine is, where the system says so.
#pragma once

#include <string>
#include <vector>

namespace spirkiln::bench {

struct ThermalZone {
  std::string name;  // "cpu-0-0", "gpuss", ...: the file `type`, else the folder's name
  double celsius = 0;
};

// All zones of Linux' thermal class below `root` that can be read, sorted by folder. Empty where
// there is none: not every system has them, and not every user may read them.
std::vector<ThermalZone> thermal_zones(const std::string& root = "/sys/class/thermal");

}  // namespace spirkiln::bench
