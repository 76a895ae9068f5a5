// SPDX-License-Identifier: Apache-2.0
// The devices that an instance offers, and which of them is meant.
#pragma once

#include <vector>

#include "loader/caps.hpp"
#include "loader/instance.hpp"
#include "spirkiln/spirkiln.hpp"

namespace spirkiln {

struct FoundDevice {
  VkPhysicalDevice handle;
  DeviceCaps caps;
  DeviceInfo info;
};

// `api_version` is the device's own; that of the caps is what instance and device both speak.
DeviceInfo make_info(const DeviceCaps& caps, std::uint32_t api_version, std::uint32_t index);

// In the driver's order. kNoVulkan when there is none.
Result<std::vector<FoundDevice>> find_devices(const Instance& instance);

// The index of the one that the options ask for, else $SPIRKILN_DEVICE, else the best. Errors
// (kInvalidArgument) list all.
Result<std::size_t> choose_device(const std::vector<FoundDevice>& all,
                                  const DeviceOptions& options);

}  // namespace spirkiln
