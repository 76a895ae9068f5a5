// SPDX-License-Identifier: Apache-2.0
// The constants that a manifest names, held against the modules of the kernel's variants.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "blob.hpp"
#include "expand.hpp"
#include "manifest.hpp"

namespace spirkiln::gen {

// A variant's module; null where it was left out.
struct VariantModule {
  const Variant* variant;
  const Blob* blob;
};

// A constant has to be in one variant or more, with what the manifest says, and wherever it is with
// one id and type. Errors have the constant's place in the manifest. Where every variant was left
// out, nothing is known and nothing is wrong.
std::vector<Diagnostic> check_constants(const KernelManifest& kernel,
                                        const std::vector<VariantModule>& modules);

// Name and id of each, which check_constants() found right; sorted by name. Those whose modules are
// unknown are missing.
std::vector<std::pair<std::string, std::uint32_t>> constant_ids(
    const KernelManifest& kernel, const std::vector<VariantModule>& modules);

}  // namespace spirkiln::gen
