// SPDX-License-Identifier: Apache-2.0
// Whole files in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln {

// Errors: kIo naming the file and why; a file above `max_bytes` is refused.
Result<std::vector<std::byte>> read_file(const std::string& path, std::uint64_t max_bytes);
// To a temporary file beside `path`, then renamed: readers see the old bytes or the new ones.
Status write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

}  // namespace spirkiln
