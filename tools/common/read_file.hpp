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

// At most its first `bytes`, and the size of all.
struct FileHead {
  std::string bytes;
  std::uintmax_t file_bytes;
};
Result<FileHead> read_head(const std::filesystem::path& path, std::size_t bytes);

}  // namespace spirkiln::tool
