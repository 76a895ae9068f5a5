// SPDX-License-Identifier: Apache-2.0
// Extensions that the compiler that is linked in may not know, though newer ones do.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics.hpp"

namespace spirkiln::gen {

// Sorted. A variant that requires one of them is compiled by the second compiler, or left out,
// where it is not known; any other name that is not known is a mistake.
std::span<const std::string_view> newer_extensions();

// "; glslang 13.0 is the first that does", for messages that say who does not know it. Empty where
// that is not known.
std::string since_text(std::string_view name);

struct RequiredExtension {
  std::string name;
  std::size_t offset;  // of its directive in the text
};
// Those of them that a preprocessed text requires.
std::vector<RequiredExtension> required_newer(std::string_view expanded);

// Where the text of the kernel called `name` requires it: file, line and column.
Diagnostic place_of(const RequiredExtension& extension, std::string_view expanded,
                    const std::string& name, SourceStore& sources);

}  // namespace spirkiln::gen
