// SPDX-License-Identifier: Apache-2.0
// Whole files in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln {

// Asked about a file's first bytes (`bytes` of them, or all where there are fewer) and its size
// before the rest is read: what is something else costs no memory.
struct HeadCheck {
  std::size_t bytes = 0;
  std::function<Status(std::span<const std::byte> head, std::uint64_t size)> check;
};

// Errors: kIo naming the file and why, or what `head` says. What is no regular file (a pipe or a
// device may never end) and a file above `max_bytes` are refused.
Result<std::vector<std::byte>> read_file(const std::string& path, std::uint64_t max_bytes,
                                         const HeadCheck& head = {});
// To a temporary file beside `path`, then renamed: readers see the old bytes or the new ones.
// Temporary files of `path` that are older than a day go, too.
Status write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

}  // namespace spirkiln
