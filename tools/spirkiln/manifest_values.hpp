// SPDX-License-Identifier: Apache-2.0
// Values of a manifest's keys, checked. What is wrong is said; the result is then of no use.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "manifest.hpp"
#include "manifest_errors.hpp"

namespace spirkiln::gen {

std::string string_value(const toml::key& key, const toml::node& node, ManifestErrors& errors);

// A macro's text: integers as they are, booleans as 1 or 0, strings as written.
bool macro_value(const toml::node& node, std::string& out, ManifestErrors& errors);

// Whether a manifest may define the macro that a key names.
bool check_macro(const toml::key& key, ManifestErrors& errors);

// A list of one or more of the known names, each once.
void read_names(const toml::key& key, const toml::node& node,
                std::span<const std::string_view> known, std::vector<std::string>& out,
                ManifestErrors& errors);

// A number of bytes, or "40 KB": B, KB, MB are thousands of each other, KiB and MiB 1024.
std::optional<Budget> read_budget(const toml::node& node, ManifestErrors& errors);

// Says what a key that is not among `known` may have meant. `place` is what has such keys.
void unknown_key(const toml::key& key, std::string_view place,
                 std::span<const std::string_view> known, ManifestErrors& errors);

}  // namespace spirkiln::gen
