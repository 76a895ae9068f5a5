// SPDX-License-Identifier: Apache-2.0
#include "output_target.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>

namespace spirkiln::tool {
namespace fs = std::filesystem;
namespace {

constexpr int kMaxLinks = 40;

// N of "/proc/self/fd/N", by whatever way it is reached. What such a link says may be no path.
int descriptor_of(const fs::path& path) {
  const std::string name = path.filename().string();
  int fd = -1;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), fd);
  if (error != std::errc{} || stop != name.data() + name.size() || fd < 0) return -1;
  std::error_code code;
  const fs::path own = fs::canonical("/proc/self/fd", code);
  if (code) return -1;
  const fs::path folder = fs::canonical(path.has_parent_path() ? path.parent_path() : ".", code);
  return !code && folder == own ? fd : -1;
}

// SIGPIPE of this thread waits while this lives, and is dropped where it was ours.
class PipeSignalHeld {
 public:
  PipeSignalHeld() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    was_pending_ = pending();
    held_ = !was_pending_ && pthread_sigmask(SIG_BLOCK, &pipe_, &before_) == 0;
  }
  ~PipeSignalHeld() {
    if (!held_) return;
    int signal = 0;
    if (pending()) sigwait(&pipe_, &signal);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalHeld(const PipeSignalHeld&) = delete;
  PipeSignalHeld& operator=(const PipeSignalHeld&) = delete;

 private:
  static bool pending() {
    sigset_t set;
    sigemptyset(&set);
    return sigpending(&set) == 0 && sigismember(&set, SIGPIPE) == 1;
  }
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
  bool held_ = false;
};

}  // namespace

int find_target(const fs::path& path, OutputTarget* target) {
  fs::path at = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    if (const int fd = descriptor_of(at); fd >= 0) {
      *target = DescriptorTarget{fd};
      return 0;
    }
    struct stat info{};
    // What cannot be looked at is a file that cannot be written; writing it says why.
    const bool seen = ::lstat(at.c_str(), &info) == 0;
    if (!seen || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) {
      *target = FileTarget{at};
      return 0;
    }
    if (!S_ISLNK(info.st_mode)) {
      *target = InPlaceTarget{at};
      return 0;
    }
    std::error_code code;
    const fs::path next = fs::read_symlink(at, code);
    if (code) return code.value();
    at = at.parent_path() / next;  // `next` alone where it is absolute
  }
  return ELOOP;
}

int write_all(int fd, std::string_view bytes) {
  const PipeSignalHeld held;
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace spirkiln::tool
