// SPDX-License-Identifier: Apache-2.0
#include "table/read_file.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <system_error>

namespace spirkiln {
namespace {

struct Close {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Close>;

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& path, std::uint64_t max_bytes,
                                         const HeadCheck& head) {
  // Asked before the file is opened: opening a pipe waits for its other end.
  std::error_code ec;
  const auto status = std::filesystem::status(path, ec);
  if (std::filesystem::is_directory(status)) {
    return Error{ErrorCode::kIo, "cannot read " + path + ": it is a folder"};
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return Error{ErrorCode::kIo,
                 "cannot read " + path + ": it is a pipe or device, expected a regular file"};
  }
  File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return Error{ErrorCode::kIo, "cannot read " + path + ": " + std::strerror(errno)};
  }
  std::uint64_t expected = std::filesystem::file_size(path, ec);
  if (ec) expected = 0;
  if (expected > max_bytes) {
    return Error{ErrorCode::kIo, path + " has " + std::to_string(expected) +
                                     " bytes, more than the limit of " + std::to_string(max_bytes)};
  }
  const auto failed = [&] {
    return Error{ErrorCode::kIo, "cannot read " + path + ": " + std::strerror(errno)};
  };
  std::vector<std::byte> bytes(head.bytes);
  std::uint64_t used = std::fread(bytes.data(), 1, bytes.size(), file.get());
  if (std::ferror(file.get()) != 0) return failed();
  if (head.check) {
    if (auto s = head.check(std::span(bytes).first(used), expected); !s) {
      return std::move(s).error();
    }
  }
  // Grown as bytes arrive, since the file may grow; one byte more than expected, so that the end is
  // met without another round.
  constexpr std::uint64_t kChunk = 1 << 16;
  for (;;) {
    const std::uint64_t room = std::min(std::max(expected + 1, used + kChunk), max_bytes + 1);
    bytes.resize(room);
    used += std::fread(bytes.data() + used, 1, room - used, file.get());
    if (used > max_bytes) {
      return Error{ErrorCode::kIo,
                   path + " has more than the limit of " + std::to_string(max_bytes) + " bytes"};
    }
    if (used < room) break;
  }
  bytes.resize(used);
  if (std::ferror(file.get()) != 0) return failed();
  return bytes;
}

namespace {

// What processes left that ended between writing and renaming.
void remove_stale_temporaries(const std::filesystem::path& target) {
  namespace fs = std::filesystem;
  const std::string prefix = target.filename().string() + ".tmp";
  const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
  const auto yesterday = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(prefix) || name.size() == prefix.size() ||
        name.find_first_not_of("0123456789", prefix.size()) != std::string::npos) {
      continue;
    }
    std::error_code own;
    const auto written = it->last_write_time(own);
    if (!own && written < yesterday) fs::remove(it->path(), own);
  }
}

}  // namespace

Status write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  namespace fs = std::filesystem;
  std::error_code ec;
  const fs::path target(path);
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), ec);
  if (ec) return Error{ErrorCode::kIo, "cannot make the folder of " + path + ": " + ec.message()};
  const std::string temporary = path + ".tmp" + std::to_string(std::random_device{}());
  {
    File file(std::fopen(temporary.c_str(), "wb"));
    if (file == nullptr) {
      return Error{ErrorCode::kIo, "cannot write " + temporary + ": " + std::strerror(errno)};
    }
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size() &&
                         std::fflush(file.get()) == 0;
    if (!written) {
      const std::string why = std::strerror(errno);
      file.reset();
      fs::remove(temporary, ec);
      return Error{ErrorCode::kIo, "cannot write " + temporary + ": " + why};
    }
  }
  fs::rename(temporary, target, ec);
  if (ec) {
    const std::string why = ec.message();
    fs::remove(temporary, ec);
    return Error{ErrorCode::kIo, "cannot replace " + path + ": " + why};
  }
  remove_stale_temporaries(target);
  return Ok{};
}

}  // namespace spirkiln
