// SPDX-License-Identifier: Apache-2.0
#include "manifest_constants.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "macro_check.hpp"
#include "manifest_values.hpp"

namespace spirkiln::gen {
namespace {

// As many as a blob may have.
constexpr std::size_t kMaxConstants = table::kMaxListed;
constexpr std::string_view kConstantKeys[] = {"id", "type", "default"};
// In order of the enum.
constexpr std::string_view kTypes[] = {"int", "uint", "float", "bool"};

void read_id(const toml::node& node, NamedConstant& constant, ManifestErrors& errors) {
  const auto* id = node.as_integer();
  if (id == nullptr || id->get() < 0 || id->get() > 0xffffffff) {
    errors.fail(node.source(), "'id' must be a number from 0, as in layout(constant_id = 3)");
    return;
  }
  constant.id = static_cast<std::uint32_t>(id->get());
}

void read_type(const toml::node& node, NamedConstant& constant, ManifestErrors& errors) {
  const auto* type = node.as_string();
  const auto known = type == nullptr ? std::end(kTypes)
                                     : std::find(std::begin(kTypes), std::end(kTypes), type->get());
  if (known == std::end(kTypes)) {
    errors.fail(node.source(),
                fmt::format("'type' must be one of \"{}\"", fmt::join(kTypes, "\", \"")));
    return;
  }
  constant.type = static_cast<table::SpecType>(known - std::begin(kTypes));
}

void read_default(const toml::node& node, NamedConstant& constant, ManifestErrors& errors) {
  if (const auto* b = node.as_boolean()) {
    constant.default_value = b->get();
  } else if (const auto* i = node.as_integer()) {
    constant.default_value = i->get();
  } else if (const auto* f = node.as_floating_point()) {
    constant.default_value = f->get();
  } else {
    errors.fail(node.source(), "'default' must be a number or a boolean");
  }
}

}  // namespace

void read_constants(const toml::key& key, const toml::node& node, KernelManifest& kernel,
                    ManifestErrors& errors) {
  const toml::table* table = node.as_table();
  if (table == nullptr || table->size() > kMaxConstants) {
    errors.fail(key.source(),
                fmt::format("'constants' must be a table of at most {} names: "
                            "[kernel.constants] with lines such as tile = {{ id = 3 }}",
                            kMaxConstants));
    return;
  }
  for (const auto& [name, value] : *table) {
    NamedConstant constant;
    constant.name = std::string(name.str());
    constant.position = errors.at(name.source());
    if (auto error = bad_macro_name(name.str())) {
      errors.fail(name.source(),
                  fmt::format("'{}' names no constant of a kernel: expected letters, "
                              "digits and _, no digit first",
                              name.str().substr(0, 80)));
      continue;
    }
    const toml::table* fields = value.as_table();
    if (fields == nullptr) {
      errors.fail(
          value.source(),
          fmt::format("'{0}' must be a table: {0} = {{ id = 3, type = \"uint\", default = 8 "
                      "}}, or {0} = {{}} for the name alone",
                      name.str()));
      continue;
    }
    for (const auto& [field, content] : *fields) {
      if (field.str() == "id") {
        read_id(content, constant, errors);
      } else if (field.str() == "type") {
        read_type(content, constant, errors);
      } else if (field.str() == "default") {
        read_default(content, constant, errors);
      } else {
        unknown_key(field, "a constant", kConstantKeys, errors);
      }
    }
    kernel.constants.push_back(std::move(constant));
  }
  std::sort(kernel.constants.begin(), kernel.constants.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

}  // namespace spirkiln::gen
