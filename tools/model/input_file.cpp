// SPDX-License-Identifier: Apache-2.0
#include "input_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "regular_file.hpp"

namespace spirkiln::packer {
Result<std::vector<std::uint8_t>> read_input(const std::string& path, const InputLimits& limits) {
  const auto failed = [&](const char* what) {
    return Error{ErrorCode::kIo, fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
  };
  using State = tool::RegularFile::State;
  const tool::RegularFile file(path);
  if (file.state() == State::kCannotOpen) return failed("cannot be opened");
  if (file.state() == State::kCannotExamine) return failed("cannot be read");
  if (file.state() != State::kOpen) {
    const bool folder = file.state() == State::kFolder;
    return Error{ErrorCode::kIo, fmt::format("{}: is no regular file but a {}", path,
                                             folder ? "folder" : "pipe, socket or device")};
  }
  const std::uint64_t size = file.bytes();
  if (size > limits.max_bytes) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: the file has {} bytes, more than the {} that are supported", path,
                             size, limits.max_bytes)};
  }
  std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(size, limits.head_bytes));
  std::ptrdiff_t got = file.read(std::as_writable_bytes(std::span(bytes)));
  if (got < 0) return failed("cannot be read");
  auto used = static_cast<std::size_t>(got);
  if (limits.check_head) {
    if (const Status s = limits.check_head(std::span(bytes).first(used), size); !s) {
      return Error{s.error().code, fmt::format("{}: {}", path, s.error().message)};
    }
  }
  bytes.resize(size);
  got = file.read(std::as_writable_bytes(std::span(bytes).subspan(used)));
  if (got < 0) return failed("cannot be read");
  used += static_cast<std::size_t>(got);
  bytes.resize(used);  // the file may have become shorter
  return bytes;
}

}  // namespace spirkiln::packer
