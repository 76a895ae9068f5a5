// SPDX-License-Identifier: Apache-2.0
#include "files.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <system_error>
#include <utility>

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

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
          fmt::format("{}:{}: error: a NUL byte; this is not a text file", shown(path), line)};
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

}  // namespace

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
    return Error{ErrorCode::kIo, fmt::format("there is no file '{}'", shown(path))};
  }
  return file;
}

Result<std::shared_ptr<const SourceFile>> SourceStore::put(const fs::path& path,
                                                           std::string_view bytes) {
  const fs::path key = path.lexically_normal();
  if (bytes.size() > kMaxSourceBytes) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: error: {} bytes, at most {} are expected", shown(key),
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
