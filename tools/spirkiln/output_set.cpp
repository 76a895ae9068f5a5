// SPDX-License-Identifier: Apache-2.0
#include "output_set.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include "files.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kTail = ".tmp";
constexpr std::size_t kDigits = 16;

std::string_view advice(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return "; free some space there";
    case EFBIG:
      return "; this process may write no file of that size (ulimit -f)";
    case EACCES:
    case EPERM:
      return "; allow writing in its folder, or name another one";
    case EROFS:
      return "; name another folder";
    case ENOENT:
    case ENOTDIR:
      return "; make its folder, or name another one";
    case ENAMETOOLONG:
      return "; name a shorter one";
    default:
      return "";
  }
}

Error cannot_write(const fs::path& path, int code) {
  return Error{ErrorCode::kIo, fmt::format("cannot write '{}': {}{}", path.string(),
                                           std::generic_category().message(code), advice(code))};
}

Error folder_in_the_way(const fs::path& path) {
  return Error{ErrorCode::kIo,
               fmt::format("cannot write '{}': a folder has that name; remove it, or name another "
                           "output",
                           path.string())};
}

fs::path temporary_name(const fs::path& path) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  fs::path name = path;
  name += fmt::format(".{:016x}{}", random(), kTail);
  return name;
}

bool is_temporary_of(std::string_view name, std::string_view output) {
  if (name.size() != output.size() + 1 + kDigits + kTail.size() || !name.starts_with(output) ||
      !name.ends_with(kTail) || name[output.size()] != '.') {
    return false;
  }
  const std::string_view digits = name.substr(output.size() + 1, kDigits);
  return std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return isxdigit(c); });
}

bool holds(const fs::path& path, std::string_view bytes) {
  std::error_code code;
  if (!fs::is_regular_file(path, code) || fs::file_size(path, code) != bytes.size()) return false;
  auto old = read_file(path, bytes.size());
  return old.ok() && *old == bytes;
}

// Gone again when it is not wanted any more.
class Temporary {
 public:
  explicit Temporary(const fs::path& path) : path_(temporary_name(path)) {}
  ~Temporary() {
    if (exists_) ::unlink(path_.c_str());
  }
  Temporary(Temporary&& other) noexcept
      : path_(std::move(other.path_)), exists_(std::exchange(other.exists_, false)) {}
  Temporary& operator=(Temporary&&) = delete;

  // 0, or what errno was.
  int write(std::string_view bytes) {
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return errno;
    exists_ = true;
    int error = 0;
    while (!bytes.empty() && error == 0) {
      const ssize_t n = ::write(fd, bytes.data(), bytes.size());
      if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
      if (n < 0 && errno != EINTR) error = errno;
    }
    if (::close(fd) != 0 && error == 0) error = errno;
    return error;
  }
  // A second name of what is there, so that it can come back.
  bool keep(const fs::path& path) {
    exists_ = ::link(path.c_str(), path_.c_str()) == 0;
    return exists_;
  }
  int rename_to(const fs::path& path) {
    if (::rename(path_.c_str(), path.c_str()) != 0) return errno;
    exists_ = false;
    return 0;
  }
  bool exists() const { return exists_; }

 private:
  fs::path path_;
  bool exists_ = false;
};

struct Change {
  const fs::path* path;
  Temporary fresh;
  Temporary old;
  bool existed;
};

// Puts back what had been replaced, last first. Names what could not be.
std::string undo(std::vector<Change>& changes, std::size_t done) {
  std::string stuck;
  while (done-- > 0) {
    Change& c = changes[done];
    const bool back = c.existed ? c.old.exists() && c.old.rename_to(*c.path) == 0
                                : ::unlink(c.path->c_str()) == 0;
    if (!back) stuck += fmt::format("{}'{}'", stuck.empty() ? "" : ", ", c.path->string());
  }
  return stuck;
}

}  // namespace

Status check_output(const fs::path& path, bool missing_folder_is_made) {
  std::error_code code;
  if (fs::is_directory(path, code)) return folder_in_the_way(path);
  fs::path folder = path.parent_path();
  if (folder.empty()) folder = ".";
  while (missing_folder_is_made && !fs::exists(folder, code)) {
    folder = folder.parent_path();
    if (folder.empty()) folder = ".";
  }
  if (!fs::exists(folder, code)) return cannot_write(path, ENOENT);
  if (!fs::is_directory(folder, code)) return cannot_write(path, ENOTDIR);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return cannot_write(path, errno);
  return Ok{};
}

Status write_outputs(const std::vector<Output>& outputs) {
  std::set<fs::path> names;
  std::vector<Change> changes;
  for (const Output& output : outputs) {
    std::error_code code;
    if (!names.insert(fs::absolute(output.path, code).lexically_normal()).second) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("two outputs are called '{}'; name another one", output.path.string())};
    }
    if (fs::is_directory(output.path, code)) return folder_in_the_way(output.path);
    if (holds(output.path, output.bytes)) continue;
    const bool existed = fs::exists(fs::symlink_status(output.path, code));
    Change& change = changes.emplace_back(
        Change{&output.path, Temporary(output.path), Temporary(output.path), existed});
    if (const int error = change.fresh.write(output.bytes)) return cannot_write(output.path, error);
  }
  // File systems without hard links are left with the new file where a later rename fails.
  for (Change& change : changes) {
    if (change.existed) change.old.keep(*change.path);
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const int error = changes[i].fresh.rename_to(*changes[i].path);
    if (error == 0) continue;
    Error failure = cannot_write(*changes[i].path, error);
    const std::string stuck = undo(changes, i);
    if (!stuck.empty()) failure.message += fmt::format("; already replaced: {}", stuck);
    return failure;
  }
  return Ok{};
}

void remove_leftovers(const std::vector<Output>& outputs) {
  std::set<fs::path> folders;
  for (const Output& output : outputs) folders.insert(output.path.parent_path());
  for (const fs::path& folder : folders) {
    std::error_code code;
    std::vector<fs::path> found;
    const fs::path where = folder.empty() ? fs::path(".") : folder;
    for (fs::directory_iterator it(where, code), end; !code && it != end; it.increment(code)) {
      const std::string name = it->path().filename().string();
      if (!name.ends_with(kTail)) continue;
      for (const Output& output : outputs) {
        if (output.path.parent_path() == folder &&
            is_temporary_of(name, output.path.filename().string())) {
          found.push_back(it->path());
        }
      }
    }
    for (const fs::path& path : found) fs::remove(path, code);
  }
}

FolderLock::FolderLock(const fs::path& folder)
    : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0 && errno == EINTR) continue;
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace spirkiln::gen
