// SPDX-License-Identifier: Apache-2.0
// What a module needs of a device, whether it lies in a table or came as words.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loader/caps.hpp"
#include "spirkiln/table_format.hpp"
#include "table/table.hpp"

namespace spirkiln {

// Views into what describes the module.
struct ModuleNeeds {
  std::uint32_t vulkan_version = 0;  // 0: any
  std::uint32_t spirv_version = 0;
  std::span<const std::uint32_t> capabilities;
  std::vector<std::string_view> extensions;
  std::span<const table::BindingEntry> bindings;
  std::uint32_t push_bytes = 0, shared_bytes = 0;
  std::array<std::uint32_t, 3> local_size{1, 1, 1};
  std::array<std::uint32_t, 3> local_size_id{table::kNone, table::kNone, table::kNone};
};

ModuleNeeds needs_of(const Table& table, const table::BlobEntry& blob);

// What the device lacks ("shaderFloat16 (SPIR-V capability Float16)"), or nothing.
std::optional<std::string> missing_requirement(const ModuleNeeds& needs, const DeviceCaps& caps);

// `caps` with only those optional features that `all` has and one of `tables` asks for.
DeviceCaps only_used_features(const DeviceCaps& all, std::span<const Table> tables);

}  // namespace spirkiln
