// SPDX-License-Identifier: Apache-2.0
// Errors in what the dialect's macros became are errors about the word that the user wrote.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "device_axes.hpp"
#include "diagnostics.hpp"

namespace spirkiln::gen {

// Rewrites the compiler's messages where the token that they name is not in the kernel's line, or
// where they name none. `files` are the kernel and what it includes.
void name_written_words(std::vector<Diagnostic>& diagnostics, const SourceFiles& files,
                        const std::filesystem::path& dialect, SourceStore& sources);

// An error for every psc() of something that is no constant. `expanded` is the preprocessed text of
// the kernel called `name`.
std::vector<Diagnostic> check_psc(std::string_view expanded, const std::string& name,
                                  const SourceFiles& files, SourceStore& sources);

}  // namespace spirkiln::gen
