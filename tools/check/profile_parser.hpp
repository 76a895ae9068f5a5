// SPDX-License-Identifier: Apache-2.0
// Inside parse_profile(): what all parts of a profile are read with.
#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <set>

#include "profile.hpp"
#include "profile_keys.hpp"
#include "table/nearest_name.hpp"

namespace spirkiln::check {

template <typename Entries>
std::vector<std::string_view> names_of(const Entries& entries) {
  std::vector<std::string_view> names;
  for (const auto& e : entries) names.push_back(e.name);
  return names;
}

inline std::string version_text(std::uint32_t v) {
  return fmt::format("{}.{}", v >> 22, (v >> 12) & 0x3ff);
}

class ProfileParser {
 public:
  ProfileParser(std::string_view text, const std::string& path) : text_(text) {
    profile_.path = path;
  }
  Result<DeviceProfile> parse();

 private:
  struct Mistake {
    toml::source_position at;
    std::string text;
  };

  DeviceCaps& caps() { return profile_.caps; }

  void fail(const toml::source_region& where, std::string text) {
    errors_.push_back({where.begin, std::move(text)});
  }
  // What is missing has no place of its own.
  void fail_at_end(std::string text) { errors_at_end_.push_back(std::move(text)); }
  Result<DeviceProfile> result();

  template <typename Names>
  void check_keys(const toml::table& table, const Names& known, std::string_view where) {
    for (const auto& [key, node] : table) {
      const std::string_view name = key.str();
      if (std::find(std::begin(known), std::end(known), name) != std::end(known)) continue;
      fail(key.source(), fmt::format("unknown key '{}' in {}; the nearest is '{}'", name, where,
                                     nearest_name(name, known)));
    }
  }

  std::string string_of(const toml::node& node, std::string_view key);
  std::optional<bool> bool_of(const toml::node& node, std::string_view key);
  // A whole number from `least` to what 32 bits hold.
  std::optional<std::uint32_t> word_of(const toml::node& node, std::string_view key,
                                       std::uint32_t least);
  // A value by its name or, where no name of it is known here, by its number.
  std::optional<std::uint32_t> value_of(const toml::node& node, std::string_view key,
                                        std::span<const ValueName> names);
  const toml::table* table_of(const toml::table& root, std::string_view key);
  // The tables of [[key]], or nothing after an error.
  std::vector<const toml::table*> tables_of(const toml::table& root, std::string_view key);

  // Calls `item` for each string of a list; where `one_is_fine`, a string is a list of one.
  template <typename Item>
  void read_list(const toml::table& root, std::string_view key, bool one_is_fine,
                 const Item& item) {
    const toml::node* node = root.get(key);
    if (node == nullptr) return;
    if (one_is_fine && node->is_string()) {
      if (std::string s = string_of(*node, key); !s.empty()) item(*node, std::move(s));
      return;
    }
    const toml::array* list = node->as_array();
    if (list == nullptr || (one_is_fine && list->empty())) {
      fail(node->source(),
           fmt::format("'{}' must be a {}list of strings", key, one_is_fine ? "string or a " : ""));
      return;
    }
    for (const toml::node& entry : *list) {
      if (std::string s = string_of(entry, key); !s.empty()) item(entry, std::move(s));
    }
  }

  // Whether the loader would look at what came with this version or this extension.
  bool sees(std::uint32_t core, std::string_view extension) const {
    if (core != 0 && profile_.caps.api_version >= core) return true;
    return !extension.empty() && profile_.caps.extensions.contains(extension);
  }
  // An error where it would not.
  void needs(const toml::node& node, std::string_view what, std::uint32_t core,
             std::string_view extension);

  // profile.cpp
  void read_strings(const toml::table& root);
  void read_driver(const toml::table& root);
  void read_type(const toml::node& node, const std::string& value);
  void read_version(const toml::node& node, const std::string& value);
  void read_features(const toml::table& table);
  std::optional<std::uint64_t> number(const toml::node& node, const LimitKey& key,
                                      std::uint64_t guaranteed);
  void read_limits(const toml::table& table);
  void read_triple(const toml::node& node, const LimitKey& key);

  // profile_parts.cpp
  void read_subgroup(const toml::table& table);
  void read_subgroup_sizes(const toml::table& table);
  void read_float_controls(const toml::table& table);
  void read_matrices(const toml::table& root);
  void read_heaps(const toml::table& root);
  void read_memory(const toml::table& table);
  void read_memory_rates(const toml::table& table);
  std::optional<MemoryHeap> heap_of(const toml::table& table);

  std::string_view text_;
  DeviceProfile profile_;
  std::set<std::string, std::less<>> given_;
  std::vector<Mistake> errors_;
  std::vector<std::string> errors_at_end_;
};

}  // namespace spirkiln::check
