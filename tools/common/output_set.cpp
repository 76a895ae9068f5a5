// SPDX-License-Identifier: Apache-2.0
#include "output_set.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <compare>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include "output_target.hpp"
#include "read_file.hpp"
#include "shown.hpp"

namespace spirkiln::tool {
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
    case ELOOP:
      return "; its links lead nowhere: name another one";
    default:
      return "";
  }
}

Error cannot_write(const fs::path& path, int code) {
  return Error{ErrorCode::kIo, fmt::format("cannot write '{}': {}{}", shown(path),
                                           std::generic_category().message(code), advice(code))};
}

Error folder_in_the_way(const fs::path& path) {
  return Error{ErrorCode::kIo,
               fmt::format("cannot write '{}': a folder has that name; remove it, or name another "
                           "output",
                           shown(path))};
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
    int error = write_all(fd, bytes);
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
  fs::path path;         // links followed
  const fs::path* name;  // as the caller gave it
  Temporary fresh;
  Temporary old;
  bool existed;
};

// Puts back what had been replaced, last first. Names what could not be.
std::string undo(std::vector<Change>& changes, std::size_t done) {
  std::string stuck;
  while (done-- > 0) {
    Change& c = changes[done];
    const bool back =
        c.existed ? c.old.exists() && c.old.rename_to(c.path) == 0 : ::unlink(c.path.c_str()) == 0;
    if (!back) stuck += fmt::format("{}'{}'", stuck.empty() ? "" : ", ", shown(*c.name));
  }
  return stuck;
}

// A device or a pipe, open for writing.
class InPlace {
 public:
  explicit InPlace(const Output& output) : output_(&output) {}
  ~InPlace() {
    if (owned_) ::close(fd_);
  }
  InPlace(InPlace&& other) noexcept
      : output_(other.output_), fd_(other.fd_), owned_(std::exchange(other.owned_, false)) {}
  InPlace& operator=(InPlace&&) = delete;

  // 0, or what errno was. Opening a pipe waits for its reader.
  int open(const OutputTarget& target) {
    if (const auto* descriptor = std::get_if<DescriptorTarget>(&target)) {
      fd_ = descriptor->fd;
      return 0;
    }
    do {
      fd_ = ::open(std::get<InPlaceTarget>(target).path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    } while (fd_ < 0 && errno == EINTR);
    owned_ = fd_ >= 0;
    return owned_ ? 0 : errno;
  }
  int write() {
    int error = write_all(fd_, output_->bytes);
    if (owned_ && ::close(fd_) != 0 && error == 0) error = errno;
    owned_ = false;
    return error;
  }
  const fs::path& name() const { return output_->path; }

 private:
  const Output* output_;
  int fd_ = -1;
  bool owned_ = false;
};

struct FileId {
  dev_t device;
  ino_t number;
  auto operator<=>(const FileId&) const = default;
};

// Of a regular file, through links.
std::optional<FileId> file_id(const fs::path& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

// One name for each file, however it was reached.
fs::path file_key(const fs::path& path) {
  std::error_code code;
  const fs::path folder =
      fs::weakly_canonical(path.has_parent_path() ? path.parent_path() : ".", code);
  return (code ? fs::absolute(path, code).parent_path() : folder) / path.filename();
}

std::vector<fs::path>& protected_inputs() {
  static std::vector<fs::path> paths;
  return paths;
}

}  // namespace

Status check_output(const fs::path& path, bool missing_folder_is_made) {
  std::error_code code;
  if (fs::is_directory(path, code)) return folder_in_the_way(path);
  OutputTarget target;
  if (const int error = find_target(path, &target)) return cannot_write(path, error);
  if (const auto* place = std::get_if<InPlaceTarget>(&target)) {
    if (::access(place->path.c_str(), W_OK) != 0) return cannot_write(path, errno);
    return Ok{};
  }
  const auto* file = std::get_if<FileTarget>(&target);
  if (file == nullptr) return Ok{};
  fs::path folder = file->path.parent_path();
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

void protect_input(const fs::path& path) { protected_inputs().push_back(path); }

Status refuse_inputs(const std::vector<fs::path>& outputs, const std::vector<fs::path>& inputs) {
  std::map<FileId, const fs::path*> read;
  for (const fs::path& input : inputs) {
    if (const auto id = file_id(input)) read.emplace(*id, &input);
  }
  for (const fs::path& input : protected_inputs()) {
    if (const auto id = file_id(input)) read.emplace(*id, &input);
  }
  for (const fs::path& output : outputs) {
    const auto id = file_id(output);
    const auto it = id ? read.find(*id) : read.end();
    if (it == read.end()) continue;
    const std::string also =
        *it->second == output ? "" : fmt::format(" (as '{}')", shown(*it->second));
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the output '{}' is an input as well{}; name another output",
                             shown(output), also)};
  }
  return Ok{};
}

Status may_write(const fs::path& output, std::vector<fs::path> inputs) {
  if (Status status = check_output(output, false); !status.ok()) return status;
  const char* table = std::getenv("SPIRKILN_TABLE");
  if (table != nullptr && *table != '\0') inputs.emplace_back(table);
  return refuse_inputs({output}, inputs);
}

Status write_outputs(const std::vector<Output>& outputs) {
  std::set<fs::path> names;
  std::vector<Change> changes;
  std::vector<InPlace> in_place;
  std::vector<std::pair<const Output*, fs::path>> files;
  for (const Output& output : outputs) {
    std::error_code code;
    if (fs::is_directory(output.path, code)) return folder_in_the_way(output.path);
    OutputTarget target;
    if (const int error = find_target(output.path, &target)) {
      return cannot_write(output.path, error);
    }
    const auto* file = std::get_if<FileTarget>(&target);
    if (file == nullptr) {
      // All of them now: while one waits for its reader no temporary file lies about.
      InPlace& special = in_place.emplace_back(output);
      if (const int error = special.open(target)) return cannot_write(output.path, error);
      continue;
    }
    if (!names.insert(file_key(file->path)).second) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("two outputs are called '{}'; name another one", shown(output.path))};
    }
    files.emplace_back(&output, file->path);
  }
  for (const auto& [output, path] : files) {
    if (holds(path, output->bytes)) continue;
    std::error_code code;
    const bool existed = fs::exists(fs::symlink_status(path, code));
    Change& change = changes.emplace_back(
        Change{path, &output->path, Temporary(path), Temporary(path), existed});
    if (const int error = change.fresh.write(output->bytes)) {
      return cannot_write(output->path, error);
    }
  }
  // File systems without hard links are left with the new file where a later rename fails.
  for (Change& change : changes) {
    if (change.existed) change.old.keep(change.path);
  }
  for (InPlace& special : in_place) {
    if (const int error = special.write()) return cannot_write(special.name(), error);
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const int error = changes[i].fresh.rename_to(changes[i].path);
    if (error == 0) continue;
    Error failure = cannot_write(*changes[i].name, error);
    const std::string stuck = undo(changes, i);
    if (!stuck.empty()) failure.message += fmt::format("; already replaced: {}", stuck);
    return failure;
  }
  return Ok{};
}

Status write_file(const fs::path& path, std::string_view bytes) {
  return write_outputs({{path, std::string(bytes)}});
}

void remove_leftovers(const std::vector<Output>& outputs) {
  std::map<fs::path, std::vector<std::string>> names;  // of each folder
  for (const Output& output : outputs) {
    OutputTarget target;
    if (find_target(output.path, &target) != 0) continue;
    if (const auto* file = std::get_if<FileTarget>(&target)) {
      const fs::path folder = file->path.parent_path();
      names[folder.empty() ? fs::path(".") : folder].push_back(file->path.filename().string());
    }
  }
  for (const auto& [folder, own] : names) {
    std::error_code code;
    std::vector<fs::path> found;
    for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
      const std::string name = it->path().filename().string();
      if (!name.ends_with(kTail)) continue;
      if (std::any_of(own.begin(), own.end(),
                      [&](const std::string& output) { return is_temporary_of(name, output); })) {
        found.push_back(it->path());
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

}  // namespace spirkiln::tool
