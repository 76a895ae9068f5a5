// SPDX-License-Identifier: Apache-2.0
#include "manifest_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "macro_check.hpp"
#include "table/nearest_name.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::uint64_t kMaxBudget = std::uint64_t{1} << 40;

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr Unit kUnits[] = {{"B", 1},      {"KB", 1000},    {"kB", 1000},
                           {"KiB", 1024}, {"MB", 1000000}, {"MiB", 1024 * 1024}};

// "40 KB"; nothing for what is no size.
std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number > kMaxBudget) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  for (const Unit& unit : kUnits) {
    if (text == unit.name) return number * unit.bytes;
  }
  return std::nullopt;
}

}  // namespace

std::string string_value(const toml::key& key, const toml::node& node, ManifestErrors& errors) {
  if (const auto* s = node.as_string()) return s->get();
  errors.fail(node.source(), fmt::format("'{}' must be a string", key.str()));
  return {};
}

bool macro_value(const toml::node& node, std::string& out, ManifestErrors& errors) {
  if (const auto* i = node.as_integer()) {
    out = fmt::format("{}", i->get());
  } else if (const auto* b = node.as_boolean()) {
    out.assign(1, b->get() ? '1' : '0');
  } else if (const auto* s = node.as_string()) {
    out = s->get();
    if (auto error = bad_macro_value(out)) {
      errors.fail(node.source(), std::move(*error));
      return false;
    }
  } else {
    errors.fail(node.source(), "expected an integer, a boolean or a string");
    return false;
  }
  return true;
}

bool check_macro(const toml::key& key, ManifestErrors& errors) {
  const std::string_view name = key.str();
  if (auto error = bad_macro_name(name)) {
    errors.fail(key.source(), std::move(*error));
  } else if (name.starts_with("NCNN_") || name.starts_with("ncnn_")) {
    errors.fail(key.source(), fmt::format("the name '{}' is reserved", name));
  } else {
    return true;
  }
  return false;
}

void read_names(const toml::key& key, const toml::node& node,
                std::span<const std::string_view> known, std::vector<std::string>& out,
                ManifestErrors& errors) {
  const toml::array* list = node.as_array();
  if (list == nullptr || list->empty()) {
    errors.fail(node.source(), fmt::format("'{}' must be a list of one or more of \"{}\"",
                                           key.str(), fmt::join(known, "\", \"")));
    return;
  }
  for (const toml::node& item : *list) {
    const auto* s = item.as_string();
    if (s == nullptr || std::find(known.begin(), known.end(), s->get()) == known.end()) {
      errors.fail(item.source(), fmt::format("expected one of \"{}\"", fmt::join(known, "\", \"")));
    } else if (std::find(out.begin(), out.end(), s->get()) != out.end()) {
      errors.fail(item.source(), fmt::format("'{}' is listed twice", s->get()));
    } else {
      out.push_back(s->get());
    }
  }
}

std::optional<Budget> read_budget(const toml::node& node, ManifestErrors& errors) {
  std::optional<std::uint64_t> bytes;
  if (const auto* i = node.as_integer(); i != nullptr && i->get() > 0) {
    bytes = static_cast<std::uint64_t>(i->get());
  } else if (const auto* s = node.as_string()) {
    bytes = parse_size(s->get());
  }
  if (!bytes || *bytes == 0 || *bytes > kMaxBudget) {
    errors.fail(node.source(),
                "'budget' must be a number of bytes from 1, or a string with a unit: \"40 KB\" (B, "
                "KB, MB, or KiB and MiB of 1024)");
    return std::nullopt;
  }
  return Budget{*bytes, errors.at(node.source())};
}

void unknown_key(const toml::key& key, std::string_view place,
                 std::span<const std::string_view> known, ManifestErrors& errors) {
  const std::string_view name = key.str().substr(0, 80);
  const std::string_view nearest = nearest_name(name, known);
  // A change counts twice there: beyond half of the letters it is another word.
  const bool close = edit_distance(name, nearest) <= nearest.size();
  errors.fail(key.source(), close ? fmt::format("unknown key '{}' in {}; the nearest is '{}'", name,
                                                place, nearest)
                                  : fmt::format("unknown key '{}' in {}; known: {}", name, place,
                                                fmt::join(known, ", ")));
}

}  // namespace spirkiln::gen
