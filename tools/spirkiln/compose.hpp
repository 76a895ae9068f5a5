// SPDX-License-Identifier: Apache-2.0
// Stage 3: a kernel's text with the variant's macros and the dialect behind its #version line.
#pragma once

#include <optional>
#include <string>

#include "diagnostics.hpp"
#include "expand.hpp"
#include "files.hpp"

namespace spirkiln::gen {

// The name under which the composed text includes the dialect; the include resolver knows it.
inline constexpr std::string_view kDialectInclude = "spirkiln:dialect";

struct Composed {
  std::string text;
  std::optional<Diagnostic> error;
};

// #line directives keep the kernel's own file name and line numbers.
Composed compose(const SourceFile& kernel, const Variant& variant);

}  // namespace spirkiln::gen
