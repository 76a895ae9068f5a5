// SPDX-License-Identifier: Apache-2.0
#include "read_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "shown.hpp"

namespace spirkiln::tool {
namespace fs = std::filesystem;
namespace {

Error io_error(const fs::path& path, std::string_view what, int code) {
  return Error{ErrorCode::kIo, fmt::format("cannot {} '{}': {}", what, shown(path),
                                           std::generic_category().message(code))};
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<Descriptor> open_regular(const fs::path& path, std::uintmax_t* file_bytes) {
  // Not blocking, so that a named pipe is refused instead of waited for.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return io_error(path, "open", errno);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return io_error(path, "examine", errno);
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot read '{}': it is not a regular file", shown(path))};
  }
  *file_bytes = static_cast<std::uintmax_t>(info.st_size);
  return file;
}

// Fewer than `size` where the file ends before.
Result<std::string> read_bytes(const fs::path& path, const Descriptor& file, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path, "read", errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::uintmax_t max_bytes) {
  std::uintmax_t size = 0;
  const auto file = open_regular(path, &size);
  if (!file.ok()) return file.error();
  if (size > max_bytes) {
    return Error{ErrorCode::kIo, fmt::format("cannot read '{}': {} bytes, at most {} are expected",
                                             shown(path), size, max_bytes)};
  }
  return read_bytes(path, *file, size);
}

Result<FileHead> read_head(const fs::path& path, std::size_t bytes) {
  std::uintmax_t size = 0;
  const auto file = open_regular(path, &size);
  if (!file.ok()) return file.error();
  auto head = read_bytes(path, *file, std::min<std::uintmax_t>(bytes, size));
  if (!head.ok()) return head.error();
  return FileHead{*std::move(head), size};
}

}  // namespace spirkiln::tool
