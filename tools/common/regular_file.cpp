// SPDX-License-Identifier: Apache-2.0
#include "regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace spirkiln::tool {

// Not blocking, so that a named pipe is refused instead of waited for.
RegularFile::RegularFile(const std::filesystem::path& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) return;
  struct stat info{};
  if (::fstat(fd_, &info) != 0) {
    state_ = State::kCannotExamine;
  } else if (S_ISREG(info.st_mode)) {
    state_ = State::kOpen;
    bytes_ = static_cast<std::uintmax_t>(info.st_size);
  } else {
    state_ = S_ISDIR(info.st_mode) ? State::kFolder : State::kNoFile;
  }
}

RegularFile::~RegularFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::ptrdiff_t RegularFile::read(std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t n = ::read(fd_, to.data() + done, to.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<std::ptrdiff_t>(done);
}

}  // namespace spirkiln::tool
