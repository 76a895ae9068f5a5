// SPDX-License-Identifier: Apache-2.0
#include "manifest_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "forms.hpp"
#include "manifest_axes.hpp"
#include "manifest_values.hpp"

namespace spirkiln::gen {
namespace {

using Names = std::span<const std::string_view>;

// The order of preference that holds without 'order'.
constexpr std::string_view kPreference[] = {"fp16s", "fp16p", "fp16sa", "fp16pa", "fp32"};
// In order of their enums.
constexpr std::string_view kResources[] = {"buffer", "image"};
constexpr std::string_view kInt8[] = {"none", "packed", "storage"};

// read_names() for an axis of the dialect's own, whose names stand in order of the enum.
template <typename Enum>
void read_enum(const toml::key& key, const toml::node& node, Names known, std::vector<Enum>& out,
               ManifestErrors& errors) {
  std::vector<std::string> names;
  read_names(key, node, known, names, errors);
  out.clear();
  for (const std::string& name : names) {
    out.push_back(static_cast<Enum>(std::find(known.begin(), known.end(), name) - known.begin()));
  }
}

// True after a mistake: so are the defaults.
bool read_switch(const toml::key& key, const toml::node& node, ManifestErrors& errors) {
  const auto* value = node.as_boolean();
  if (value == nullptr) {
    errors.fail(node.source(), fmt::format("'{}' must be true or false", key.str()));
  }
  return value == nullptr || value->get();
}

void read_optimise(const toml::key& key, const toml::node& node, KernelManifest& kernel,
                   ManifestErrors& errors) {
  const std::string value = string_value(key, node, errors);
  if (value == "performance") {
    kernel.optimise = Optimise::kPerformance;
  } else if (value == "size") {
    kernel.optimise = Optimise::kSize;
  } else if (value == "none") {
    kernel.optimise = Optimise::kNone;
  } else if (node.is_string()) {
    errors.fail(node.source(),
                fmt::format("'{}': expected \"performance\", \"size\" or \"none\"", value));
  }
}

void read_target(const toml::key& key, const toml::node& node, KernelManifest& kernel,
                 ManifestErrors& errors) {
  const std::string value = string_value(key, node, errors);
  if (value == "vulkan1.0") {
    kernel.target = VulkanTarget::k10;
  } else if (value == "vulkan1.1") {
    kernel.target = VulkanTarget::k11;
  } else if (value == "vulkan1.2") {
    kernel.target = VulkanTarget::k12;
  } else if (value == "vulkan1.3") {
    kernel.target = VulkanTarget::k13;
  } else if (node.is_string()) {
    errors.fail(node.source(), fmt::format("'{}': expected \"vulkan1.0\", \"vulkan1.1\", "
                                           "\"vulkan1.2\" or \"vulkan1.3\"",
                                           value));
  }
}

void read_defines(const toml::key& key, const toml::node& node, KernelManifest& kernel,
                  ManifestErrors& errors) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    errors.fail(key.source(), "'defines' must be a table: [kernel.defines]");
    return;
  }
  for (const auto& [name, value] : *table) {
    std::string text;
    if (check_macro(name, errors) && macro_value(value, text, errors)) {
      kernel.defines.insert_or_assign(std::string(name.str()), std::move(text));
    }
  }
}

}  // namespace

bool read_shared_key(const toml::key& key, const toml::node& node, KernelManifest& kernel,
                     ManifestErrors& errors) {
  const std::string_view name = key.str();
  if (name == "profile") {
    kernel.profile = string_value(key, node, errors);
    if (node.is_string() && form_names(kernel.profile).empty()) {
      errors.fail(node.source(),
                  fmt::format("unknown profile '{}'; known: ncnn-2023, ncnn-2026", kernel.profile));
    }
  } else if (name == "variants") {
    kernel.variants.clear();
    read_names(key, node, kVariants, kernel.variants, errors);
  } else if (name == "resources") {
    read_enum(key, node, kResources, kernel.resources, errors);
  } else if (name == "int8") {
    read_enum(key, node, kInt8, kernel.int8, errors);
  } else if (name == "optimise") {
    read_optimise(key, node, kernel, errors);
  } else if (name == "optimise_required") {
    kernel.optimise_required = read_switch(key, node, errors);
  } else if (name == "target") {
    read_target(key, node, kernel, errors);
  } else if (name == "strict") {
    kernel.strict = read_switch(key, node, errors);
  } else if (name == "budget") {
    kernel.budget = read_budget(node, errors);
  } else if (name == "defines") {
    read_defines(key, node, kernel, errors);
  } else if (name == "axes") {
    read_axes(key, node, kernel, errors);
  } else if (name == "device") {
    read_device(key, node, kernel, errors);
  } else {
    return false;
  }
  return true;
}

void order_variants(KernelManifest& kernel, const std::vector<std::string>& order,
                    const toml::node* order_node, const std::vector<std::string>& default_order,
                    ManifestErrors& errors) {
  if (kernel.variants.empty()) kernel.variants.assign(std::begin(kVariants), std::end(kVariants));
  if (order_node == nullptr) {
    std::vector<std::string> sorted;
    // The file's order where it has all of them.
    std::vector<std::string> known(std::begin(kPreference), std::end(kPreference));
    const bool fits =
        std::all_of(kernel.variants.begin(), kernel.variants.end(), [&](const std::string& v) {
          return std::find(default_order.begin(), default_order.end(), v) != default_order.end();
        });
    if (fits) known = default_order;
    for (const std::string& v : known) {
      if (std::find(kernel.variants.begin(), kernel.variants.end(), v) != kernel.variants.end()) {
        sorted.emplace_back(v);
      }
    }
    kernel.variants = std::move(sorted);
    return;
  }
  if (std::set<std::string>(order.begin(), order.end()) !=
      std::set<std::string>(kernel.variants.begin(), kernel.variants.end())) {
    errors.fail(order_node->source(),
                fmt::format("'order' must list each variant of the kernel once: {}",
                            fmt::join(kernel.variants, ", ")));
  }
  kernel.variants = order;
}

void check_resources(KernelManifest& kernel, const toml::table& table, ManifestErrors& errors) {
  // Buffers come first in a table whatever the list's order: an image form is asked for by name.
  std::sort(kernel.resources.begin(), kernel.resources.end());
  if (kernel.profile != kProfile2026 || kernel.resources.empty() ||
      kernel.resources.back() != table::Resource::kImage) {
    return;
  }
  const toml::node* node = table.get("resources");
  errors.fail(node != nullptr ? node->source() : table.source(),
              "profile ncnn-2026 has no image variants");
}

}  // namespace spirkiln::gen
