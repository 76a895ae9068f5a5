// SPDX-License-Identifier: Apache-2.0
#include "manifest_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "capability_names.hpp"
#include "device_axes.hpp"
#include "expand.hpp"
#include "manifest_values.hpp"
#include "table/nearest_name.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::size_t kMaxRules = 1024;  // of a kernel
constexpr std::size_t kMaxListedValues = 16;

constexpr std::string_view kNeedsKeys[] = {"when", "capabilities"};
constexpr std::string_view kRuleKeys[] = {"when", "reason", "then"};

std::span<const std::string_view> rule_keys(bool excludes) {
  return std::span(kRuleKeys).first(excludes ? 2 : 3);
}

// The name of the axis that the dialect's own variants are.
constexpr std::string_view kVariantAxis = "variant";

std::optional<std::string> value_text(const toml::node& node) {
  if (const auto* i = node.as_integer()) return fmt::format("{}", i->get());
  if (const auto* b = node.as_boolean()) return b->get() ? "1" : "0";
  if (const auto* s = node.as_string()) return s->get();
  return std::nullopt;
}

// The values that an axis has; null for an axis that a kernel's text may still add.
const std::vector<std::string>* values_of(const KernelManifest& kernel, std::string_view axis) {
  if (axis == kVariantAxis) return &kernel.variants;
  for (const Axis& own : kernel.axes) {
    if (own.name == axis) return &own.values;
  }
  return nullptr;
}

// Where there are many, the first of them.
std::string listed(const std::vector<std::string>& values) {
  const auto end =
      values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), kMaxListedValues));
  return fmt::format("{}{}", fmt::join(values.begin(), end, ", "),
                     end == values.end() ? "" : ", ...");
}

std::string axis_names(const KernelManifest& kernel) {
  std::string names(kVariantAxis);
  for (const Axis& axis : kernel.axes) names += ", " + axis.name;
  return names;
}

// { TILE = 8, variant = ["fp32", "fp16p"] }
Condition read_condition(const toml::key& key, const toml::node& node, const KernelManifest& kernel,
                         ManifestErrors& errors) {
  Condition condition;
  const toml::table* table = node.as_table();
  if (table == nullptr || table->empty()) {
    errors.fail(
        node.source(),
        fmt::format("'{}' must be a table of axes with a value or a list of values", key.str()));
    return condition;
  }
  for (const auto& [axis, value] : *table) {
    const auto* known = values_of(kernel, axis.str());
    const bool may_come = kernel.device_auto && is_device_axis(axis.str());
    if (known == nullptr && !may_come) {
      errors.fail(axis.source(), fmt::format("'{}' is no axis of '{}'; its axes are: {}",
                                             axis.str(), kernel.name, axis_names(kernel)));
      continue;
    }
    std::vector<const toml::node*> items;
    if (const toml::array* list = value.as_array()) {
      for (const toml::node& item : *list) items.push_back(&item);
    } else {
      items.push_back(&value);
    }
    if (items.empty()) errors.fail(value.source(), "a list of one or more values is expected");
    if (items.size() > kMaxVariants) {
      errors.fail(value.source(), fmt::format("{} values; a kernel has at most {} variants",
                                              items.size(), kMaxVariants));
      continue;
    }
    for (const toml::node* item : items) {
      const auto text = value_text(*item);
      if (!text) {
        errors.fail(item->source(), "expected an integer, a boolean or a string");
      } else if (known != nullptr &&
                 std::find(known->begin(), known->end(), *text) == known->end()) {
        errors.fail(item->source(), fmt::format("'{}' is not among the values of '{}': {}", *text,
                                                axis.str(), listed(*known)));
      } else {
        condition[std::string(axis.str())].push_back(*text);
      }
    }
  }
  return condition;
}

// "GroupNonUniform" or a number of the specification.
std::optional<std::uint32_t> read_capability(const toml::node& node, ManifestErrors& errors) {
  if (const auto* number = node.as_integer()) {
    if (number->get() >= 0 && number->get() <= 0xffff) {
      return static_cast<std::uint32_t>(number->get());
    }
  }
  const auto* name = node.as_string();
  if (name == nullptr) {
    errors.fail(node.source(), "expected a capability of SPIR-V: its name or its number");
    return std::nullopt;
  }
  const auto capability = capability_from_name(name->get());
  if (!capability) {
    errors.fail(
        node.source(),
        fmt::format("'{}' is no capability of SPIR-V that is known here; the nearest is '{}', and "
                    "a number does, too",
                    name->get(), nearest_name(name->get(), capability_names())));
  }
  return capability;
}

}  // namespace

bool matches(const Condition& condition, const KernelManifest& kernel, const std::string& form,
             const std::vector<std::string>& values) {
  return std::all_of(condition.begin(), condition.end(), [&](const auto& entry) {
    const auto& [name, wanted] = entry;
    const std::string* is = name == kVariantAxis ? &form : nullptr;
    for (std::size_t i = 0; i < kernel.axes.size() && is == nullptr; ++i) {
      if (kernel.axes[i].name == name) is = &values[i];
    }
    return is != nullptr && std::find(wanted.begin(), wanted.end(), *is) != wanted.end();
  });
}

void read_rules(const toml::key& key, const toml::node& node, KernelManifest& kernel,
                ManifestErrors& errors) {
  const bool excludes = key.str() == "excludes";
  const toml::array* rules = node.as_array();
  if (rules == nullptr || !rules->is_array_of_tables()) {
    errors.fail(node.source(), fmt::format("'{0}' must be written as [[kernel.{0}]]", key.str()));
    return;
  }
  if (rules->size() > kMaxRules) {
    errors.fail(node.source(),
                fmt::format("{} rules; a kernel has at most {}", rules->size(), kMaxRules));
    return;
  }
  for (const toml::node& item : *rules) {
    const toml::table& table = *item.as_table();
    const auto where = table.source();
    Rule rule;
    rule.excludes = excludes;
    rule.position = errors.at(where);
    for (const auto& [name, value] : table) {
      if (name.str() == "when") {
        rule.when = read_condition(name, value, kernel, errors);
      } else if (name.str() == "then" && !excludes) {
        rule.then = read_condition(name, value, kernel, errors);
      } else if (name.str() == "reason") {
        const auto* reason = value.as_string();
        if (reason == nullptr || reason->get().empty() ||
            reason->get().find('\n') != std::string::npos) {
          errors.fail(value.source(), "'reason' must be one line of text");
        } else {
          rule.reason = reason->get();
        }
      } else {
        unknown_key(name, fmt::format("[[kernel.{}]]", key.str()), rule_keys(excludes), errors);
      }
    }
    for (const char* needed : {"when", "then", "reason"}) {
      if (excludes && std::string_view(needed) == "then") continue;
      if (!table.contains(needed)) {
        errors.fail(where, fmt::format("[[kernel.{}]] without '{}'", key.str(), needed));
      }
    }
    kernel.rules.push_back(std::move(rule));
  }
}

void read_needs(const toml::node& node, KernelManifest& kernel, ManifestErrors& errors) {
  const toml::array* list = node.as_array();
  if (list == nullptr || !list->is_array_of_tables()) {
    errors.fail(node.source(), "'needs' must be written as [[kernel.needs]]");
    return;
  }
  if (list->size() > kMaxRules) {
    errors.fail(node.source(),
                fmt::format("{} entries; a kernel has at most {}", list->size(), kMaxRules));
    return;
  }
  for (const toml::node& item : *list) {
    const toml::table& table = *item.as_table();
    Needs needs;
    for (const auto& [name, value] : table) {
      if (name.str() == "when") {
        needs.when = read_condition(name, value, kernel, errors);
      } else if (name.str() == "capabilities") {
        const toml::array* names = value.as_array();
        if (names == nullptr || names->empty()) {
          errors.fail(value.source(), "'capabilities' must be a list of one or more");
          continue;
        }
        for (const toml::node& entry : *names) {
          if (const auto capability = read_capability(entry, errors)) {
            needs.capabilities.push_back(*capability);
          }
        }
      } else {
        unknown_key(name, "[[kernel.needs]]", kNeedsKeys, errors);
      }
    }
    if (!table.contains("capabilities")) {
      errors.fail(table.source(), "[[kernel.needs]] without 'capabilities'");
    }
    kernel.needs.push_back(std::move(needs));
  }
}

const Rule* forbidding_rule(const KernelManifest& kernel, const std::string& form,
                            const std::vector<std::string>& values) {
  for (const Rule& rule : kernel.rules) {
    if (!matches(rule.when, kernel, form, values)) continue;
    if (rule.excludes || !matches(rule.then, kernel, form, values)) return &rule;
  }
  return nullptr;
}

}  // namespace spirkiln::gen
