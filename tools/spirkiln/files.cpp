// SPDX-License-Identifier: Apache-2.0
#include "files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "output_set.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

Error io_error(const fs::path& path, std::string_view what, int code) {
  return Error{ErrorCode::kIo, fmt::format("cannot {} '{}': {}", what, path.string(),
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

// Byte-order mark off, CRLF and lone CR to LF, so that no later stage sees a difference.
Result<std::string> normalise(const fs::path& path, std::string_view bytes) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  std::string text;
  text.reserve(bytes.size() + 1);
  std::size_t line = 1;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char c = bytes[i];
    if (c == '\0') {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("{}:{}: error: a NUL byte; this is not a text file", path.string(), line)};
    }
    if (c == '\r') {
      if (i + 1 < bytes.size() && bytes[i + 1] == '\n') continue;
      c = '\n';
    }
    if (c == '\n') ++line;
    text += c;
  }
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

Result<Descriptor> open_regular(const fs::path& path, std::uintmax_t* file_bytes) {
  // Not blocking, so that a named pipe is refused instead of waited for.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return io_error(path, "open", errno);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return io_error(path, "examine", errno);
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot read '{}': it is not a regular file", path.string())};
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
                                             path.string(), size, max_bytes)};
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

Status write_file(const fs::path& path, std::string_view bytes) {
  return write_outputs({{path, std::string(bytes)}});
}

Result<std::shared_ptr<const SourceFile>> SourceStore::find(const fs::path& path) {
  const fs::path key = path.lexically_normal();
  std::lock_guard lock(mutex_);
  auto [it, is_new] = slots_.try_emplace(key);
  Slot& slot = it->second;
  if (is_new) {
    std::error_code code;
    if (fs::exists(key, code)) {
      auto bytes = read_file(key, kMaxSourceBytes);
      if (bytes.ok()) {
        auto text = normalise(key, *bytes);
        if (text.ok()) {
          slot.file = std::make_shared<SourceFile>(
              SourceFile{key, std::move(text).value(), hash_bytes(*bytes)});
        } else {
          slot.error = text.error().message;
        }
      } else {
        slot.error = bytes.error().message;
      }
    }
  }
  if (!slot.error.empty()) return Error{ErrorCode::kIo, slot.error};
  return slot.file;
}

Result<std::shared_ptr<const SourceFile>> SourceStore::load(const fs::path& path) {
  auto file = find(path);
  if (file.ok() && *file == nullptr) {
    return Error{ErrorCode::kIo, fmt::format("there is no file '{}'", path.string())};
  }
  return file;
}

Result<std::shared_ptr<const SourceFile>> SourceStore::put(const fs::path& path,
                                                           std::string_view bytes) {
  const fs::path key = path.lexically_normal();
  if (bytes.size() > kMaxSourceBytes) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: error: {} bytes, at most {} are expected", key.string(),
                             bytes.size(), kMaxSourceBytes)};
  }
  auto text = normalise(key, bytes);
  if (!text.ok()) return text.error();
  auto file = std::make_shared<const SourceFile>(
      SourceFile{key, std::move(text).value(), hash_bytes(bytes)});
  std::lock_guard lock(mutex_);
  slots_[key] = {file, {}};
  return file;
}

std::vector<SourceStore::Opened> SourceStore::opened() const {
  std::lock_guard lock(mutex_);
  std::vector<Opened> all;
  for (const auto& [path, slot] : slots_) {
    all.push_back({path, slot.file != nullptr, slot.file ? slot.file->hash : 0});
  }
  return all;
}

std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

std::uint64_t hash_bytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace spirkiln::gen
