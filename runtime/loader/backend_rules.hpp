// SPDX-License-Identifier: Apache-2.0
// What "auto" does with a Vulkan device that is there: by what it can do, never by its name.
#pragma once

#include <span>
#include <string_view>

#include "spirkiln/spirkiln.hpp"

namespace spirkiln {

enum class BackendKind { kVulkan, kCpu };

struct BackendRule {
  // The rule holds for devices of this type (DeviceInfo::type); empty: for any.
  std::string_view device_type;
  BackendKind use;
  std::string_view reason;  // measured; said where a backend is explained
};

// In order: the first that holds decides. The last holds for all.
std::span<const BackendRule> backend_rules();
const BackendRule& backend_rule_for(const DeviceInfo& device);

}  // namespace spirkiln
