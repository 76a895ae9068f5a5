// SPDX-License-Identifier: Apache-2.0
// Reading files with bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "spirkiln/result.hpp"

namespace spirkiln::tool {

// The bytes of a regular file of at most `max_bytes`. Errors (kIo) name the file; a named pipe is
// refused, not waited for.
Result<std::string> read_file(const std::filesystem::path& path, std::uintmax_t max_bytes);

}  // namespace spirkiln::tool
