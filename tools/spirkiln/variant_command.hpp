// SPDX-License-Identifier: Apache-2.0
// How one variant of a manifest is made without the manifest.
#pragma once

#include <string>

#include "bake_load.hpp"
#include "blob.hpp"

namespace spirkiln::gen {

// A line for a shell: 'spirkiln spirv' with all that makes its module the words of the table. Names
// of files are as they were given, so it is run where the manifest was named. `blob` is its
// module, null where it was left out: it says which compiler made it, and whether the optimiser
// did.
std::string variant_command(const BakeKernel& kernel, const Variant& variant,
                            const SourceOptions& options, const Blob* blob);

}  // namespace spirkiln::gen
