// SPDX-License-Identifier: Apache-2.0
// A regular file that is open for reading. A named pipe is refused, not waited for; nor is a device
// read, which may never end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace spirkiln::tool {

class RegularFile {
 public:
  enum class State {
    kOpen,
    kCannotOpen,  // errno says why
    kCannotExamine,  // errno says why
    kFolder,
    kNoFile,  // a pipe, a socket or a device
  };

  explicit RegularFile(const std::filesystem::path& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  // In another state than kOpen there is nothing to read.
  State state() const { return state_; }
  std::uintmax_t bytes() const { return bytes_; }

  // Fills `to` as far as the file goes on. The number of bytes, or -1 with errno.
  std::ptrdiff_t read(std::span<std::byte> to) const;

 private:
  int fd_;
  State state_ = State::kCannotOpen;
  std::uintmax_t bytes_ = 0;
};

}  // namespace spirkiln::tool
