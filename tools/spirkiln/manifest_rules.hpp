// SPDX-License-Identifier: Apache-2.0
// [[kernel.excludes]] and [[kernel.requires]]: points of the product that do not become variants;
// [[kernel.needs]]: what points ask for beyond what the dialect does.
#pragma once

#include <toml++/toml.h>

#include <string>

#include "manifest.hpp"
#include "manifest_errors.hpp"

namespace spirkiln::gen {

// Axes and variants of the kernel must be there already: rules may name nothing else.
void read_rules(const toml::key& key, const toml::node& node, KernelManifest& kernel,
                ManifestErrors& errors);

// [[kernel.needs]]; axes and variants must be there already.
void read_needs(const toml::node& node, KernelManifest& kernel, ManifestErrors& errors);

// Whether the point is one that the condition means. `values` go with the kernel's axes.
bool matches(const Condition& condition, const KernelManifest& kernel, const std::string& form,
             const std::vector<std::string>& values);

// The first rule that forbids the point, or null. `values` go with the kernel's axes.
const Rule* forbidding_rule(const KernelManifest& kernel, const std::string& form,
                            const std::vector<std::string>& values);

}  // namespace spirkiln::gen
