// SPDX-License-Identifier: Apache-2.0
// A composed kernel for people, and for other compilers: with its includes in place.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "files.hpp"

namespace spirkiln::gen {

// Every #include of `text` (from compose()) that finds a file is replaced by that file, the
// dialect's as well, with #line around it. What finds none stays: it may stand where nobody goes.
std::string with_includes(std::string_view text, const std::filesystem::path& kernel,
                          const std::filesystem::path& dialect,
                          const std::vector<std::filesystem::path>& folders, SourceStore& sources);

}  // namespace spirkiln::gen
