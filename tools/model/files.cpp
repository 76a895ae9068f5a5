// SPDX-License-Identifier: Apache-2.0
#include "input_file.hpp"
#include "model.hpp"
#include "pack_check.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <unistd.h>

namespace spirkiln::packer {

Result<std::vector<std::uint8_t>> read_pack(const std::string& path) {
  return read_input(path, {model::kMaxPackBytes, sizeof(model::ModelHeader), check_pack_head});
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
