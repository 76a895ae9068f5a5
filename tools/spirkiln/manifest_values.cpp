// SPDX-License-Identifier: Apache-2.0
#include "manifest_values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "macro_check.hpp"

namespace spirkiln::gen {

std::string string_value(const toml::key& key, const toml::node& node, ManifestErrors& errors) {
  if (const auto* s = node.as_string()) return s->get();
  errors.fail(node.source(), fmt::format("'{}' must be a string", key.str()));
  return {};
}

bool macro_value(const toml::node& node, std::string& out, ManifestErrors& errors) {
  if (const auto* i = node.as_integer()) {
    out = fmt::format("{}", i->get());
  } else if (const auto* b = node.as_boolean()) {
    out = b->get() ? "1" : "0";
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

}  // namespace spirkiln::gen
