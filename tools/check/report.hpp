// SPDX-License-Identifier: Apache-2.0
// What the program prints.
#pragma once

#include <string>
#include <vector>

#include "check.hpp"
#include "profile.hpp"

namespace spirkiln::check {

struct DeviceReport {
  DeviceProfile device;
  std::vector<GraphReport> graphs;
};

std::string report_text(const std::vector<DeviceReport>& devices);
std::string report_json(const std::vector<DeviceReport>& devices);

}  // namespace spirkiln::check
