// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <unistd.h>

namespace spirkiln::packer {

Result<std::vector<std::uint8_t>> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    return Error{ErrorCode::kIo,
                 fmt::format("{}: cannot be opened: {}", path, std::strerror(errno))};
  }
  const auto size = file.tellg();
  // A folder opens, and says that it has 2^63 - 1 bytes.
  if (size < 0 || size > (std::streamoff{1} << 31)) {
    return Error{ErrorCode::kIo, fmt::format("{}: is no regular file, or larger than 2 GiB", path)};
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  file.seekg(0);
  if (!bytes.empty() && !file.read(reinterpret_cast<char*>(bytes.data()), size)) {
    return Error{ErrorCode::kIo, fmt::format("{}: cannot be read", path)};
  }
  return bytes;
}

Status write_file(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  const auto fail = [&](const char* what) -> Status {
    const Error error{ErrorCode::kIo, fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return error;
  };
  {
    errno = 0;
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    if (!file) return fail("cannot be created");
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) return fail("cannot be written");
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) {
    errno = error.value();
    return fail("cannot be put in place");
  }
  return Ok{};
}

}  // namespace spirkiln::packer
