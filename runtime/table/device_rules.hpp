// SPDX-License-Identifier: Apache-2.0
// What a table says of devices (variants/quirks.toml): what must not run where, and which backend
// is the better one. Needs no TOML: it is the table's attachment "quirks" (table_format.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "table/select.hpp"

namespace spirkiln {

// The devices that a quirk is of. 0 and the whole range stand for any.
struct QuirkDevices {
  std::uint32_t vendor_id = 0;
  std::uint32_t first_device = 0, last_device = ~0u;  // VkPhysicalDeviceProperties::deviceID
  std::uint32_t driver_id = 0;                        // VkDriverId
  std::uint32_t first_driver = 0, last_driver = ~0u;  // driverVersion, as a number
  bool have(const DeviceCaps& caps) const;
  bool operator==(const QuirkDevices&) const = default;
};

struct DeviceQuirk {
  QuirkDevices devices;
  Quirk quirk;
  bool operator==(const DeviceQuirk&) const = default;
};

enum class BackendKind { kVulkan, kCpu };

// Which backend "auto" takes where the best Vulkan device is of one of these types.
struct BackendRule {
  std::uint32_t types = ~0u;  // bits by VkPhysicalDeviceType
  BackendKind use = BackendKind::kVulkan;
  std::string reason;  // measured
  bool operator==(const BackendRule&) const = default;
};

struct DeviceRules {
  std::vector<DeviceQuirk> quirks;
  std::vector<BackendRule> backends;
};

// Empty where the table has none. Errors: kCorrupt naming the table.
Result<DeviceRules> device_rules(const Table& table);

// For the device, with the user's wishes; no known answer has failed yet. Errors: as
// device_rules().
Result<SelectRules> select_rules(const Table& table, const DeviceCaps& caps, Wishes wishes = {});

// The first that holds for a device of the type (DeviceInfo::type); Vulkan where none does.
BackendRule backend_for(const std::vector<BackendRule>& rules, std::string_view type);

}  // namespace spirkiln
