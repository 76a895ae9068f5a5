// SPDX-License-Identifier: Apache-2.0
// Stage 3: a kernel's text with the variant's macros and the dialect behind its #version line.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "diagnostics.hpp"
#include "expand.hpp"
#include "files.hpp"

namespace spirkiln::gen {

// The name under which the composed text includes the dialect; the include resolver knows it.
inline constexpr std::string_view kDialectInclude = "spirkiln:dialect";

// The file that ncnn's kernels include; the dialect's, where none lies beside the kernel.
inline constexpr std::string_view kActivationInclude = "vulkan_activation.comp";

struct Composed {
  std::string text;
  std::optional<Diagnostic> error;
};

// #line directives keep the kernel's own file name and line numbers.
// Where `local_size` is given, it is declared for a kernel that has none of its own.
Composed compose(const SourceFile& kernel, const Variant& variant,
                 const std::optional<std::array<unsigned, 3>>& local_size = std::nullopt);

}  // namespace spirkiln::gen
