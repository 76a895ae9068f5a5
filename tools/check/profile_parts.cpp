// SPDX-License-Identifier: Apache-2.0
// The tables of a profile that are neither features nor limits.
#include <bit>

#include "profile_parser.hpp"

namespace spirkiln::check {
namespace {

constexpr std::string_view kSubgroupKeys[] = {
    "subgroupSize",    "supportedOperations",          "minSubgroupSize",
    "maxSubgroupSize", "maxComputeWorkgroupSubgroups", "requiredSubgroupSizeStages"};
constexpr std::string_view kHeapKeys[] = {"size", "flags"};
constexpr std::string_view kMemoryRates[] = {"lineRate", "cacheRate", "cacheBytes", "memoryRate"};
constexpr std::string_view kHeapFlags[] = {"DEVICE_LOCAL"};

}  // namespace

void ProfileParser::read_subgroup(const toml::table& table) {
  check_keys(table, kSubgroupKeys, "[subgroup]");
  if (caps().api_version < make_version(1, 1)) {
    fail(table.source(), "[subgroup] can only be seen from Vulkan 1.1 on");
  }
  read_subgroup_sizes(table);
  if (table.contains("supportedOperations")) given_.insert("supportedOperations");
  read_list(table, "supportedOperations", false, [&](const toml::node& item, std::string value) {
    for (const SubgroupOperation& operation : subgroup_operations()) {
      if (operation.name != value) continue;
      caps().subgroup_operations |= operation.bit;
      return;
    }
    fail(item.source(), fmt::format("unknown operation '{}'; the nearest is '{}'", value,
                                    nearest_name(value, names_of(subgroup_operations()))));
  });
}

void ProfileParser::read_subgroup_sizes(const toml::table& table) {
  const auto size_of = [&](std::string_view key) -> std::uint32_t {
    const toml::node* node = table.get(key);
    if (node == nullptr) return 0;
    given_.insert(std::string(key));
    const auto* value = node->as_integer();
    if (value != nullptr && value->get() >= 1 && value->get() <= 128 &&
        std::has_single_bit(static_cast<std::uint64_t>(value->get()))) {
      return static_cast<std::uint32_t>(value->get());
    }
    fail(node->source(), fmt::format("'{}' must be a power of two from 1 to 128", key));
    return 0;
  };
  if (!table.contains("subgroupSize")) {
    fail(table.source(), "[subgroup] without 'subgroupSize'");
  }
  caps().subgroup_size = size_of("subgroupSize");

  // VK_EXT_subgroup_size_control
  constexpr std::string_view kTogether[] = {"minSubgroupSize", "maxSubgroupSize",
                                            "maxComputeWorkgroupSubgroups"};
  const auto has = [&](std::string_view key) { return table.contains(key); };
  const auto* given = std::find_if(std::begin(kTogether), std::end(kTogether), has);
  if (given != std::end(kTogether)) {
    const toml::node& node = *table.get(*given);
    needs(node, fmt::format("'{}'", *given), make_version(1, 3), "VK_EXT_subgroup_size_control");
    const auto* missing = std::find_if_not(std::begin(kTogether), std::end(kTogether), has);
    if (missing != std::end(kTogether)) {
      fail(node.source(), fmt::format("'{}' without '{}'", *given, *missing));
    }
  }
  caps().min_subgroup_size = size_of(kTogether[0]);
  caps().max_subgroup_size = size_of(kTogether[1]);
  const toml::node* most = table.get(kTogether[1]);
  if (most != nullptr && caps().min_subgroup_size > caps().max_subgroup_size) {
    fail(most->source(), fmt::format("'{}' is below '{}'", kTogether[1], kTogether[0]));
  }
  if (const toml::node* node = table.get(kTogether[2])) {
    given_.insert(std::string(kTogether[2]));
    caps().max_group_subgroups = word_of(*node, kTogether[2], 1).value_or(0);
  }
  if (table.contains("requiredSubgroupSizeStages")) given_.insert("requiredSubgroupSizeStages");
  read_list(table, "requiredSubgroupSizeStages", false,
            [&](const toml::node& item, const std::string& stage) {
              if (stage == "COMPUTE") {
                caps().pins_subgroup_size = true;
              } else {
                fail(item.source(),
                     fmt::format("'{}': the only stage that counts is 'COMPUTE'", stage));
              }
            });
}

void ProfileParser::read_float_controls(const toml::table& table) {
  constexpr std::string_view kIndependence[] = {"denormBehaviorIndependence",
                                                "roundingModeIndependence"};
  needs(table, "[floatControls]", make_version(1, 2), "VK_KHR_shader_float_controls");
  std::vector<std::string> known(std::begin(kIndependence), std::end(kIndependence));
  for (const FloatControlKey& key : float_control_keys()) {
    for (std::size_t i = 0; i < std::size(kFloatWidths); ++i) {
      known.push_back(std::string(key.name).append(kFloatWidths[i]));
      const std::string& name = known.back();
      const toml::node* node = table.get(name);
      if (node == nullptr) continue;
      given_.insert(name);
      caps().float_controls[i].*key.member = bool_of(*node, name).value_or(false);
    }
  }
  check_keys(table, known, "[floatControls]");
  FloatIndependence* const independence[] = {&caps().denorm_independence,
                                             &caps().rounding_independence};
  for (std::size_t i = 0; i < std::size(kIndependence); ++i) {
    const toml::node* node = table.get(kIndependence[i]);
    if (node == nullptr) continue;
    given_.insert(std::string(kIndependence[i]));
    if (const auto value = value_of(*node, kIndependence[i], independences())) {
      *independence[i] = static_cast<FloatIndependence>(*value);
    }
  }
}

void ProfileParser::read_memory(const toml::table& table) {
  constexpr std::string_view kKeys[] = {"sectorBytes", "lineBytes", "sharedBanks"};
  std::vector<std::string_view> known(std::begin(kKeys), std::end(kKeys));
  known.insert(known.end(), std::begin(kMemoryRates), std::end(kMemoryRates));
  check_keys(table, known, "[memory]");
  std::uint32_t* const values[] = {&profile_.memory.sector_bytes, &profile_.memory.line_bytes,
                                   &profile_.memory.shared_banks};
  for (std::size_t i = 0; i < std::size(kKeys); ++i) {
    const toml::node* node = table.get(kKeys[i]);
    if (node == nullptr) continue;
    given_.insert(std::string(kKeys[i]));
    const auto value = word_of(*node, kKeys[i], 1);
    if (!value) continue;
    if (!std::has_single_bit(*value) || *value > 4096) {
      fail(node->source(), fmt::format("'{}' must be a power of two up to 4096", kKeys[i]));
    }
    *values[i] = *value;
  }
  read_memory_rates(table);
}

// One without the others predicts nothing.
void ProfileParser::read_memory_rates(const toml::table& table) {
  MemoryTraits& m = profile_.memory;
  std::uint32_t* const values[] = {&m.line_rate, &m.cache_rate, &m.cache_bytes, &m.memory_rate};
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::size(kMemoryRates); ++i) {
    const toml::node* node = table.get(kMemoryRates[i]);
    if (node == nullptr) continue;
    ++count;
    given_.insert(std::string(kMemoryRates[i]));
    *values[i] = word_of(*node, kMemoryRates[i], 1).value_or(0);
  }
  if (count != 0 && count != std::size(kMemoryRates)) {
    fail(table.source(),
         "'lineRate', 'cacheRate', 'cacheBytes' and 'memoryRate' of [memory] come "
         "together");
  }
}

void ProfileParser::read_matrices(const toml::table& root) {
  constexpr std::string_view kSaturating = "saturatingAccumulation";
  std::vector<std::string_view> known = names_of(matrix_keys());
  known.push_back(kSaturating);
  for (const toml::table* table : tables_of(root, "cooperativeMatrix")) {
    check_keys(*table, known, "[[cooperativeMatrix]]");
    if (!caps().cooperative_matrix) {
      fail(table->source(), "[[cooperativeMatrix]] without the feature 'cooperativeMatrix'");
    }
    MatrixShape shape;
    for (const MatrixKey& key : matrix_keys()) {
      const toml::node* node = table->get(key.name);
      if (node == nullptr) {
        fail(table->source(), fmt::format("[[cooperativeMatrix]] without '{}'", key.name));
        continue;
      }
      const auto value =
          key.is_type ? value_of(*node, key.name, component_types()) : word_of(*node, key.name, 1);
      shape.*key.member = value.value_or(0);
    }
    if (const toml::node* node = table->get(kSaturating)) {
      shape.saturating = bool_of(*node, kSaturating).value_or(false);
    }
    caps().matrix_shapes.push_back(shape);
  }
}

void ProfileParser::read_heaps(const toml::table& root) {
  std::vector<MemoryHeap> heaps;
  for (const toml::table* table : tables_of(root, "memoryHeaps")) {
    if (const auto heap = heap_of(*table)) heaps.push_back(*heap);
  }
  set_heaps(&caps(), std::move(heaps));
}

std::optional<MemoryHeap> ProfileParser::heap_of(const toml::table& table) {
  check_keys(table, kHeapKeys, "[[memoryHeaps]]");
  const toml::node* size = table.get("size");
  const auto* value = size != nullptr ? size->as_integer() : nullptr;
  if (value == nullptr || value->get() < 1) {
    fail(size != nullptr ? size->source() : table.source(),
         "[[memoryHeaps]] needs 'size', its bytes");
    return std::nullopt;
  }
  MemoryHeap heap{static_cast<std::uint64_t>(value->get()), false};
  read_list(table, "flags", false, [&](const toml::node& item, const std::string& flag) {
    if (flag == kHeapFlags[0]) {
      heap.device_local = true;
    } else {
      fail(item.source(),
           fmt::format("unknown flag '{}'; the only one is '{}'", flag, kHeapFlags[0]));
    }
  });
  return heap;
}

}  // namespace spirkiln::check
