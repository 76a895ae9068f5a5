// SPDX-License-Identifier: Apache-2.0
// [kernel.constants]: names of specialization constants that callers use.
#pragma once

#include <toml++/toml.h>

#include "manifest.hpp"
#include "manifest_errors.hpp"

namespace spirkiln::gen {

void read_constants(const toml::key& key, const toml::node& node, KernelManifest& kernel,
                    ManifestErrors& errors);

}  // namespace spirkiln::gen
