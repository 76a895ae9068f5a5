// SPDX-License-Identifier: Apache-2.0
#include "read_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <span>
#include <system_error>

#include "regular_file.hpp"
#include "shown.hpp"

namespace spirkiln::tool {
namespace fs = std::filesystem;
namespace {

Error io_error(const fs::path& path, std::string_view what, int code) {
  return Error{ErrorCode::kIo, fmt::format("cannot {} '{}': {}", what, shown(path),
                                           std::generic_category().message(code))};
}

// No error where the file may be read.
std::optional<Error> refusal(const fs::path& path, const RegularFile& file) {
  switch (file.state()) {
    case RegularFile::State::kOpen:
      return std::nullopt;
    case RegularFile::State::kCannotOpen:
      return io_error(path, "open", errno);
    case RegularFile::State::kCannotExamine:
      return io_error(path, "examine", errno);
    default:
      return Error{ErrorCode::kIo,
                   fmt::format("cannot read '{}': it is not a regular file", shown(path))};
  }
}

// Fewer than `size` where the file ends before.
Result<std::string> read_bytes(const fs::path& path, const RegularFile& file, std::size_t size) {
  std::string bytes(size, '\0');
  const std::ptrdiff_t got = file.read(std::as_writable_bytes(std::span(bytes)));
  if (got < 0) return io_error(path, "read", errno);
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::uintmax_t max_bytes) {
  const RegularFile file(path);
  if (auto error = refusal(path, file)) return *error;
  if (file.bytes() > max_bytes) {
    return Error{ErrorCode::kIo, fmt::format("cannot read '{}': {} bytes, at most {} are expected",
                                             shown(path), file.bytes(), max_bytes)};
  }
  return read_bytes(path, file, file.bytes());
}

}  // namespace spirkiln::tool
