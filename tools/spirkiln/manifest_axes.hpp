// SPDX-License-Identifier: Apache-2.0
// [kernel.axes.NAME] and [kernel.device]: what a manifest enumerates.
#pragma once

#include <toml++/toml.h>

#include "manifest.hpp"
#include "manifest_errors.hpp"

namespace spirkiln::gen {

// Each axis takes the place of one of that name which the kernel has already.
void read_axes(const toml::key& key, const toml::node& node, KernelManifest& kernel,
               ManifestErrors& errors);

// "auto", or a table of macros with their values, with `auto = true` for all others.
void read_device(const toml::key& key, const toml::node& node, KernelManifest& kernel,
                 ManifestErrors& errors);

}  // namespace spirkiln::gen
