// SPDX-License-Identifier: Apache-2.0
#include "input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace spirkiln::packer {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Fills `to` as far as the file goes; the number of bytes, or -1 with errno.
std::ptrdiff_t read_all(int fd, std::span<std::uint8_t> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t n = ::read(fd, to.data() + done, to.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<std::ptrdiff_t>(done);
}

}  // namespace

Result<std::vector<std::uint8_t>> read_input(const std::string& path, const InputLimits& limits) {
  const auto failed = [&](const char* what) {
    return Error{ErrorCode::kIo, fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
  };
  // Not blocking, so that a named pipe is refused instead of waited for.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return failed("cannot be opened");
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return failed("cannot be read");
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::kIo,
                 fmt::format("{}: is no regular file but a {}", path,
                             S_ISDIR(info.st_mode) ? "folder" : "pipe, socket or device")};
  }
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > limits.max_bytes) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: the file has {} bytes, more than the {} that are supported", path,
                             size, limits.max_bytes)};
  }
  std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(size, limits.head_bytes));
  std::ptrdiff_t got = read_all(file.get(), bytes);
  if (got < 0) return failed("cannot be read");
  auto used = static_cast<std::size_t>(got);
  if (limits.check_head) {
    if (const Status s = limits.check_head(std::span(bytes).first(used), size); !s) {
      return Error{s.error().code, fmt::format("{}: {}", path, s.error().message)};
    }
  }
  bytes.resize(size);
  got = read_all(file.get(), std::span(bytes).subspan(used));
  if (got < 0) return failed("cannot be read");
  used += static_cast<std::size_t>(got);
  bytes.resize(used);  // the file may have become shorter
  return bytes;
}

}  // namespace spirkiln::packer
