// SPDX-License-Identifier: Apache-2.0
#include "proof/tries.hpp"

#ifndef _WIN32
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <xxhash.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <random>
#include <vector>

#include "table/read_file.hpp"

namespace spirkiln {
namespace {

namespace fs = std::filesystem;

struct Header {
  char magic[8];
  std::uint64_t bytes;  // of the keys
  std::uint64_t checksum;
  std::uint64_t process;
  std::int64_t began;  // microseconds since 1970
};
constexpr char kMagic[8] = {'S', 'P', 'K', 'T', 'R', 'Y', '0', '1'};
constexpr std::uint64_t kMaxFileBytes = sizeof(Header) + kMaxVerdicts * sizeof(VerdictKey);
constexpr char kEnding[] = ".try";

// What the names of a device's tries begin with.
std::string stem_of(const std::string& path) { return fs::path(path).stem().string() + "-"; }

std::string when(const Header& h) {
  const auto seconds = static_cast<std::time_t>(h.began / 1'000'000);
  char text[64] = "at some time";
  if (const std::tm* t = std::gmtime(&seconds)) {
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", t);
  }
  return "process " + std::to_string(h.process) + ", " + text;
}

// Nothing for a file that is not whole.
std::vector<VerdictKey> read_try(const std::string& file, Header* header) {
  const auto bytes = read_file(file, kMaxFileBytes);
  if (!bytes || bytes->size() < sizeof *header) return {};
  std::memcpy(header, bytes->data(), sizeof *header);
  const auto payload = std::span(*bytes).subspan(sizeof *header);
  if (std::memcmp(header->magic, kMagic, sizeof kMagic) != 0 || header->bytes != payload.size() ||
      payload.size() % sizeof(VerdictKey) != 0 ||
      XXH3_64bits(payload.data(), payload.size()) != header->checksum) {
    return {};
  }
  std::vector<VerdictKey> keys(payload.size() / sizeof(VerdictKey));
  if (!keys.empty()) std::memcpy(keys.data(), payload.data(), payload.size());
  return keys;
}

#ifndef _WIN32

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

bool someone_is_at(const std::string& file) {
  const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (opened < 0) return true;  // gone, or not ours to judge
  const bool is_held = ::flock(opened, LOCK_EX | LOCK_NB) != 0;
  ::close(opened);
  return is_held;
}

#endif

}  // namespace

#ifdef _WIN32

Try::Try(const std::string&, std::span<const VerdictKey>) {}
Try::~Try() = default;
void Try::ended() {}

std::map<VerdictKey, LeftTries> left_tries(const std::string&,
                                           const std::function<bool(const VerdictKey&)>&) {
  return {};
}

#else

Try::Try(const std::string& path, std::span<const VerdictKey> keys) {
  if (path.empty() || keys.empty()) return;
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.bytes = keys.size_bytes();
  header.checksum = XXH3_64bits(keys.data(), keys.size_bytes());
  header.process = static_cast<std::uint64_t>(::getpid());
  header.began = std::chrono::duration_cast<std::chrono::microseconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count();
  const fs::path folder = fs::path(path).parent_path();
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const std::string name = (folder / stem_of(path)).string() + std::to_string(header.process) +
                           "-" + std::to_string(std::random_device{}());
  const std::string temporary = name + ".tmp";
  lock_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (lock_ < 0) return;
  // Locked and whole before it has its name. On disk, too: a machine may hang with its device.
  const bool written = ::flock(lock_, LOCK_EX | LOCK_NB) == 0 &&
                       write_all(lock_, std::as_bytes(std::span(&header, 1))) &&
                       write_all(lock_, std::as_bytes(keys)) && ::fsync(lock_) == 0 &&
                       ::rename(temporary.c_str(), (name + kEnding).c_str()) == 0;
  if (written) {
    file_ = name + kEnding;
  } else {
    ::unlink(temporary.c_str());
  }
}

Try::~Try() {
  if (lock_ >= 0) ::close(lock_);
}

void Try::ended() {
  if (!file_.empty()) ::unlink(file_.c_str());
  file_.clear();
}

std::map<VerdictKey, LeftTries> left_tries(const std::string& path,
                                           const std::function<bool(const VerdictKey&)>& known) {
  std::map<VerdictKey, LeftTries> left;
  if (path.empty()) return left;
  std::map<VerdictKey, std::int64_t> newest;
  const std::string stem = stem_of(path);
  std::error_code ec;
  for (fs::directory_iterator it(fs::path(path).parent_path(), ec), end; !ec && it != end;
       it.increment(ec)) {
    const std::string name = it->path().filename().string(), file = it->path().string();
    if (!name.starts_with(stem) || !name.ends_with(kEnding) || someone_is_at(file)) continue;
    Header header{};
    const auto keys = read_try(file, &header);
    bool of_use = false;
    for (const VerdictKey& key : keys) {
      if (known(key)) continue;
      of_use = true;
      LeftTries& l = left[key];
      if (++l.count == 1 || header.began >= newest[key]) {
        l.last = when(header);
        newest[key] = header.began;
      }
    }
    if (!of_use) ::unlink(file.c_str());
  }
  return left;
}

#endif

std::string try_files(const std::string& path) {
  return (fs::path(path).parent_path() / stem_of(path)).string() + "*" + kEnding;
}

}  // namespace spirkiln
