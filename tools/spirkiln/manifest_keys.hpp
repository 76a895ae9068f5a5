// SPDX-License-Identifier: Apache-2.0
// The keys that [[kernel]] and [defaults] have in common.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <vector>

#include "manifest.hpp"
#include "manifest_errors.hpp"

namespace spirkiln::gen {

// The dialect's own variants, in order of the documentation.
inline constexpr std::string_view kVariants[] = {"fp32", "fp16p", "fp16pa", "fp16s", "fp16sa"};

inline constexpr std::string_view kSharedKeys[] = {
    "profile", "variants", "order",  "resources", "int8", "optimise", "optimise_required",
    "target",  "strict",   "budget", "defines",   "axes", "device"};

// False for a key that is not among them.
bool read_shared_key(const toml::key& key, const toml::node& node, KernelManifest& kernel,
                     ManifestErrors& errors);

// Puts the kernel's variants into the order of `order`, whose node is `order_node`; where that is
// null, into that of `default_order`, if it has all of them, else the usual one.
void order_variants(KernelManifest& kernel, const std::vector<std::string>& order,
                    const toml::node* order_node, const std::vector<std::string>& default_order,
                    ManifestErrors& errors);

// When all keys of the kernel's table are read.
void check_resources(KernelManifest& kernel, const toml::table& table, ManifestErrors& errors);

}  // namespace spirkiln::gen
