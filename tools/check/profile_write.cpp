// SPDX-License-Identifier: Apache-2.0
#include "profile_write.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "quoted.hpp"

namespace spirkiln::check {
namespace {

using tool::quoted;

constexpr std::uint64_t kMostOfToml = std::numeric_limits<std::int64_t>::max();

const char* truth(bool value) { return value ? "true" : "false"; }

template <typename Range, typename Function>
std::string list_of(const Range& range, const Function& text_of) {
  std::string text;
  for (const auto& item : range) text += (text.empty() ? "" : ", ") + text_of(item);
  return "[" + text + "]";
}

const ValueName* find(std::span<const ValueName> names, std::uint32_t value) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const ValueName& n) { return n.value == value; });
  return found == names.end() ? nullptr : &*found;
}

std::string value_text(std::span<const ValueName> names, std::uint32_t value) {
  const ValueName* known = find(names, value);
  return known != nullptr ? quoted(known->name) : fmt::to_string(value);
}

ProfileTable head(const DeviceCaps& caps) {
  ProfileTable table;
  const auto add = [&](const char* key, std::string value) {
    table.entries.emplace_back(key, std::move(value));
  };
  add("name", quoted(caps.name.empty() ? "unnamed" : caps.name));
  if (!caps.driver.empty()) add("driver", quoted(caps.driver));
  if (caps.driver_id != 0) add("driverID", value_text(driver_ids(), caps.driver_id));
  add("driverVersion", fmt::to_string(caps.driver_version));
  add("vendorID", fmt::to_string(caps.vendor_id));
  add("deviceID", fmt::to_string(caps.device_id));
  for (const DeviceTypeName& type : device_types()) {
    if (type.caps == caps.type) add("deviceType", quoted(type.vulkan));
  }
  add("apiVersion",
      fmt::format("\"{}.{}\"", caps.api_version >> 22, caps.api_version >> 12 & 0x3ff));
  add("extensions", list_of(caps.extensions, quoted));
  return table;
}

ProfileTable features(const DeviceCaps& caps) {
  ProfileTable table{"features"};
  for (const FeatureKey& key : feature_keys()) {
    table.entries.emplace_back(key.name, truth(caps.*key.member));
  }
  return table;
}

ProfileTable limits(const DeviceCaps& caps) {
  ProfileTable table{"limits"};
  for (const LimitKey& key : limit_keys()) {
    std::string value;
    if (key.triple != nullptr) {
      value = list_of(caps.*key.triple, [](std::uint32_t n) { return fmt::to_string(n); });
    } else if (key.u32 != nullptr) {
      // The smaller of two limits may lie below what Vulkan guarantees of the greater.
      value = fmt::to_string(
          std::max<std::uint64_t>(caps.*key.u32, key.partner.empty() ? 0 : key.guaranteed));
    } else if (caps.*key.u64 <= kMostOfToml && caps.api_version >= key.core) {
      value = fmt::to_string(caps.*key.u64);
    }
    if (!value.empty()) table.entries.emplace_back(key.name, value);
  }
  return table;
}

ProfileTable subgroup(const DeviceCaps& caps) {
  ProfileTable table{"subgroup"};
  const auto add = [&](const char* key, std::string value) {
    table.entries.emplace_back(key, std::move(value));
  };
  add("subgroupSize", fmt::to_string(caps.subgroup_size));
  std::vector<std::string_view> operations;
  for (const SubgroupOperation& operation : subgroup_operations()) {
    if ((caps.subgroup_operations & operation.bit) != 0) operations.push_back(operation.name);
  }
  add("supportedOperations", list_of(operations, quoted));
  if (caps.max_subgroup_size == 0) return table;
  add("minSubgroupSize", fmt::to_string(caps.min_subgroup_size));
  add("maxSubgroupSize", fmt::to_string(caps.max_subgroup_size));
  add("maxComputeWorkgroupSubgroups", fmt::to_string(caps.max_group_subgroups));
  add("requiredSubgroupSizeStages", caps.pins_subgroup_size ? "[\"COMPUTE\"]" : "[]");
  return table;
}

ProfileTable float_controls(const DeviceCaps& caps) {
  ProfileTable table{"floatControls"};
  table.entries.emplace_back(
      "denormBehaviorIndependence",
      value_text(independences(), static_cast<std::uint32_t>(caps.denorm_independence)));
  table.entries.emplace_back(
      "roundingModeIndependence",
      value_text(independences(), static_cast<std::uint32_t>(caps.rounding_independence)));
  for (const FloatControlKey& key : float_control_keys()) {
    for (std::size_t i = 0; i < std::size(kFloatWidths); ++i) {
      table.entries.emplace_back(std::string(key.name).append(kFloatWidths[i]),
                                 truth(caps.float_controls[i].*key.member));
    }
  }
  return table;
}

ProfileTable matrix(const MatrixShape& shape) {
  ProfileTable table{"cooperativeMatrix", true, {}};
  for (const MatrixKey& key : matrix_keys()) {
    table.entries.emplace_back(key.name, key.is_type
                                             ? value_text(component_types(), shape.*key.member)
                                             : fmt::to_string(shape.*key.member));
  }
  table.entries.emplace_back("saturatingAccumulation", truth(shape.saturating));
  return table;
}

std::string toml_list(const std::vector<std::string>& lines) {
  std::string text = "[\n";
  for (const std::string& line : lines) text += "  " + quoted(line) + ",\n";
  return text + "]";
}

}  // namespace

std::string name_of(std::span<const ValueName> names, std::uint32_t value) {
  const ValueName* known = find(names, value);
  return known != nullptr ? std::string(known->name) : fmt::to_string(value);
}

std::vector<ProfileTable> profile_tables(const DeviceCaps& caps) {
  std::vector<ProfileTable> tables{head(caps), features(caps), limits(caps)};
  if (caps.subgroup_size != 0) tables.push_back(subgroup(caps));
  if (caps.api_version >= make_version(1, 2) ||
      caps.extensions.contains("VK_KHR_shader_float_controls")) {
    tables.push_back(float_controls(caps));
  }
  for (const MatrixShape& shape : caps.matrix_shapes) tables.push_back(matrix(shape));
  for (const MemoryHeap& heap : caps.heaps) {
    tables.push_back({"memoryHeaps",
                      true,
                      {{"size", fmt::to_string(heap.bytes)},
                       {"flags", heap.device_local ? "[\"DEVICE_LOCAL\"]" : "[]"}}});
  }
  return tables;
}

namespace {

// No device says this of itself: it is written where somebody said it.
void add_memory(const DeviceProfile& profile, std::vector<ProfileTable>* tables) {
  const MemoryTraits& m = profile.memory;
  ProfileTable table{"memory",
                     false,
                     {{"sectorBytes", fmt::to_string(m.sector_bytes)},
                      {"lineBytes", fmt::to_string(m.line_bytes)},
                      {"sharedBanks", fmt::to_string(m.shared_banks)}}};
  if (m.memory_rate != 0) {
    table.entries.insert(table.entries.end(), {{"lineRate", fmt::to_string(m.line_rate)},
                                               {"cacheRate", fmt::to_string(m.cache_rate)},
                                               {"cacheBytes", fmt::to_string(m.cache_bytes)},
                                               {"memoryRate", fmt::to_string(m.memory_rate)}});
  }
  const bool assumed =
      std::any_of(profile.assumed.begin(), profile.assumed.end(), [&](const std::string& name) {
        return std::any_of(table.entries.begin(), table.entries.end(),
                           [&](const auto& entry) { return entry.first == name; });
      });
  if (assumed || m != MemoryTraits{}) tables->push_back(std::move(table));
}

}  // namespace

std::string write_profile(const DeviceProfile& profile) {
  std::string text = "# SPDX-License-Identifier: Apache-2.0\n";
  std::vector<ProfileTable> tables = profile_tables(profile.caps);
  add_memory(profile, &tables);
  for (const ProfileTable& table : tables) {
    if (table.repeated) {
      text += fmt::format("\n[[{}]]\n", table.name);
    } else if (!table.name.empty()) {
      text += fmt::format("\n[{}]\n", table.name);
    }
    for (const auto& [key, value] : table.entries) {
      if (key == "extensions") {
        text += "source = " + toml_list(profile.source) + "\n";
        if (!profile.assumed.empty()) text += "assumed = " + toml_list(profile.assumed) + "\n";
        const auto& names = profile.caps.extensions;
        text += "extensions = " + toml_list({names.begin(), names.end()}) + "\n";
        continue;
      }
      text += key + " = " + value + "\n";
    }
  }
  return text;
}

}  // namespace spirkiln::check
