// SPDX-License-Identifier: Apache-2.0
#include "loader/backend_rules.hpp"

#include <algorithm>
#include <array>

namespace spirkiln {
namespace {

constexpr std::array kRules = {
    BackendRule{"cpu", BackendKind::kCpu,
                "a software Vulkan device runs on the same cores: lavapipe takes several times as "
                "long as the CPU backend, and seconds to compile before its first run"},
    BackendRule{"", BackendKind::kVulkan,
                "detection of 960 x 960 takes 2 ms on an H200 and a hundred on a few cores"},
};

}  // namespace

std::span<const BackendRule> backend_rules() { return kRules; }

const BackendRule& backend_rule_for(const DeviceInfo& device) {
  const auto* rule = std::find_if(kRules.begin(), kRules.end(), [&](const BackendRule& r) {
    return r.device_type.empty() || r.device_type == device.type;
  });
  return rule != kRules.end() ? *rule : kRules.back();
}

}  // namespace spirkiln
