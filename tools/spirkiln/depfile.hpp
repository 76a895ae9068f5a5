// SPDX-License-Identifier: Apache-2.0
// A depfile in Make's syntax, as Make and Ninja both read it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln::gen {

// An Error where a path cannot be written in this syntax (a line break in it).
Result<std::string> emit_depfile(const std::vector<std::filesystem::path>& outputs,
                                 const std::vector<std::filesystem::path>& inputs);

}  // namespace spirkiln::gen
