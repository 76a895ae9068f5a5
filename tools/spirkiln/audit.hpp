// SPDX-License-Identifier: Apache-2.0
// Stage 12: a variant may need what its axis values promise, and nothing else. An fp32 variant that
// came to need shaderInt16 would be refused by every device that it was made for, or worse.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "expand.hpp"
#include "manifest.hpp"
#include "reflect.hpp"

namespace spirkiln::gen {

// SPIR-V capabilities that the variant may declare, ascending: those that every Vulkan device has;
// those of its storage, arithmetic and int8; those that device macros stand for where they are set;
// and what the manifest says in [[kernel.needs]]. `form` and `values` as rules know them.
std::vector<std::uint32_t> promised_capabilities(const KernelManifest& kernel,
                                                 const Variant& variant, const std::string& form,
                                                 const std::vector<std::string>& values);

// An error at the kernel's place in its manifest where the final words have capabilities that the
// variant does not promise.
std::vector<Diagnostic> audit(const KernelManifest& kernel, const Variant& variant,
                              const Reflection& reflection);

}  // namespace spirkiln::gen
