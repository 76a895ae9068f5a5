// SPDX-License-Identifier: Apache-2.0
// What an output's name stands for: a file that may be replaced, or something that may not.
#pragma once

#include <filesystem>
#include <string_view>
#include <variant>

namespace spirkiln::tool {

// A regular file, or nothing yet: replaced by renaming. Links have been followed: they stay.
struct FileTarget {
  std::filesystem::path path;
};
// A device, a named pipe, a socket: written in place, never replaced.
struct InPlaceTarget {
  std::filesystem::path path;
};
// One of this process's own open files, as /dev/stdout names them.
struct DescriptorTarget {
  int fd;
};
using OutputTarget = std::variant<FileTarget, InPlaceTarget, DescriptorTarget>;

// 0, or what errno was: ELOOP for links that go round in a circle.
int find_target(const std::filesystem::path& path, OutputTarget* target);

// Writes all bytes to an open file; the end of a pipe's reader is an error and no signal. 0, or
// what errno was.
int write_all(int fd, std::string_view bytes);

}  // namespace spirkiln::tool
