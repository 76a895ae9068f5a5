// SPDX-License-Identifier: Apache-2.0
#include "manifest_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "device_axes.hpp"
#include "device_macros.hpp"
#include "expand.hpp"
#include "manifest_values.hpp"

namespace spirkiln::gen {
namespace {

// With two values each, twelve reach the bound on variants; axes of one value pin device macros.
constexpr std::size_t kMaxAxes = 256;
constexpr std::string_view kAxisKeys[] = {"values", "default", "interchangeable"};

// The value becomes part of the variant's name, where the minus of a number is an 'm'.
bool is_axis_value(std::string_view s) {
  const bool negative = s.starts_with('-');
  if (negative) s.remove_prefix(1);
  return !s.empty() && s.size() <= 64 && std::all_of(s.begin(), s.end(), [&](char c) {
    const bool digit = c >= '0' && c <= '9';
    return digit || (!negative && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'));
  });
}

// False, and an error, for more values than a kernel may have variants.
bool check_count(const toml::array& values, std::string_view what, ManifestErrors& errors) {
  if (values.size() <= kMaxVariants) return true;
  errors.fail(values.source(), fmt::format("{}: {} values; a kernel has at most {} variants", what,
                                           values.size(), kMaxVariants));
  return false;
}

// In the place of the default's of that name.
void put_axis(const toml::key& key, KernelManifest& kernel, Axis axis, ManifestErrors& errors) {
  if (kernel.axes.size() == kMaxAxes) {
    errors.fail(key.source(), fmt::format("more than {} axes", kMaxAxes));
    return;
  }
  std::erase_if(kernel.axes, [&](const Axis& other) { return other.name == axis.name; });
  kernel.axes.push_back(std::move(axis));
}

void read_device_axis(const toml::key& key, const toml::node& node, KernelManifest& kernel,
                      ManifestErrors& errors) {
  Axis axis;
  axis.name = std::string(key.str());
  axis.position = errors.at(key.source());
  axis.device = true;
  const toml::array* list = node.as_array();
  if (list == nullptr || list->empty()) {
    errors.fail(node.source(),
                fmt::format("'{}' must be a list of one or more numbers", axis.name));
    return;
  }
  if (!check_count(*list, axis.name, errors)) return;
  std::set<std::string> seen;
  for (const toml::node& item : *list) {
    std::string text;
    if (item.is_string() || !macro_value(item, text, errors)) {
      if (item.is_string()) errors.fail(item.source(), "expected an integer or a boolean");
    } else if (text.starts_with('-')) {
      errors.fail(item.source(), fmt::format("'{}': what a device says is 0 or more", text));
    } else if (!seen.insert(text).second) {
      errors.fail(item.source(), fmt::format("the value '{}' is listed twice", text));
    } else {
      axis.values.push_back(std::move(text));
    }
  }
  if (axis.values.empty()) return;
  const bool has_zero = std::find(axis.values.begin(), axis.values.end(), "0") != axis.values.end();
  axis.default_value = has_zero ? "0" : axis.values.front();
  put_axis(key, kernel, std::move(axis), errors);
}

void read_axis(const toml::key& axis_key, const toml::table& table, KernelManifest& kernel,
               ManifestErrors& errors) {
  Axis axis;
  axis.name = std::string(axis_key.str());
  axis.position = errors.at(axis_key.source());
  const toml::node* default_node = nullptr;
  for (const auto& [key, node] : table) {
    if (key.str() == "values") {
      const toml::array* list = node.as_array();
      if (list == nullptr || list->size() < 2) {
        errors.fail(node.source(), "'values' must be a list of two or more values");
        continue;
      }
      if (!check_count(*list, axis.name, errors)) return;
      std::set<std::string> seen;
      for (const toml::node& item : *list) {
        std::string text;
        if (!macro_value(item, text, errors)) continue;
        if (!is_axis_value(text)) {
          errors.fail(
              item.source(),
              fmt::format("'{}': an axis value is an integer, or 1 to 64 letters, digits and _",
                          text.substr(0, 80)));
        } else if (!seen.insert(text).second) {
          errors.fail(item.source(), fmt::format("the value '{}' is listed twice", text));
        } else {
          axis.values.push_back(std::move(text));
        }
      }
    } else if (key.str() == "default") {
      if (macro_value(node, axis.default_value, errors)) default_node = &node;
    } else if (key.str() == "interchangeable") {
      const auto* on = node.as_boolean();
      if (on == nullptr) errors.fail(node.source(), "'interchangeable' must be true or false");
      axis.interchangeable = on != nullptr && on->get();
      if (axis.interchangeable && axis.name == "acc") {
        errors.fail(node.source(), "the values of 'acc' are not interchangeable: sums differ");
      }
    } else {
      unknown_key(key, "an axis", kAxisKeys, errors);
    }
  }
  if (!table.contains("values")) {
    errors.fail(axis_key.source(), fmt::format("axis '{}' without 'values'", axis.name));
    return;
  }
  if (axis.values.empty()) return;
  if (default_node == nullptr) {
    axis.default_value = axis.values.front();
  } else if (std::find(axis.values.begin(), axis.values.end(), axis.default_value) ==
             axis.values.end()) {
    errors.fail(default_node->source(),
                fmt::format("the default '{}' is not among the values: {}", axis.default_value,
                            fmt::join(axis.values, ", ")));
  }
  if (axis.name == "acc" && std::set<std::string>(axis.values.begin(), axis.values.end()) !=
                                std::set<std::string>{"float", "afp"}) {
    errors.fail(axis_key.source(), "the axis 'acc' has the values \"float\" and \"afp\"");
  } else if (axis.name == "acc" && axis.default_value != "float") {
    errors.fail(axis_key.source(), "the default of the axis 'acc' is \"float\"");
  }
  if (kernel.defines.contains(axis.name)) {
    errors.fail(axis_key.source(), fmt::format("'{}' is in 'defines' as well", axis.name));
  }
  put_axis(axis_key, kernel, std::move(axis), errors);
}

}  // namespace

void read_axes(const toml::key& key, const toml::node& node, KernelManifest& kernel,
               ManifestErrors& errors) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    errors.fail(key.source(), "'axes' must hold tables: [kernel.axes.NAME]");
    return;
  }
  for (const auto& [name, value] : *table) {
    const toml::table* axis = value.as_table();
    if (axis == nullptr) {
      errors.fail(name.source(),
                  fmt::format("axis '{0}' must be a table: [kernel.axes.{0}]", name.str()));
    } else if (check_macro(name, errors)) {
      read_axis(name, *axis, kernel, errors);
    }
  }
}

void read_device(const toml::key& key, const toml::node& node, KernelManifest& kernel,
                 ManifestErrors& errors) {
  if (const auto* word = node.as_string(); word != nullptr && word->get() == "auto") {
    kernel.device_auto = true;
    return;
  }
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    errors.fail(node.source(),
                fmt::format("'{}' must be \"auto\" or a table: [kernel.device]", key.str()));
    return;
  }
  for (const auto& [name, value] : *table) {
    if (name.str() == "auto") {
      const auto* on = value.as_boolean();
      if (on == nullptr) errors.fail(value.source(), "'auto' must be true or false");
      kernel.device_auto = on != nullptr && on->get();
    } else if (is_device_axis(name.str())) {
      read_device_axis(name, value, kernel, errors);
    } else if (is_dialect_macro(name.str())) {
      errors.fail(name.source(), fmt::format("'{}' comes from the variant", name.str()));
    } else {
      const std::string shown(name.str().substr(0, 80));
      errors.fail(name.source(), fmt::format("'{}': no such macro; the nearest is '{}'", shown,
                                             nearest_dialect_macro(shown)));
    }
  }
}

}  // namespace spirkiln::gen
