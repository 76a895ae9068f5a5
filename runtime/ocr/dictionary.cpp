// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "spirkiln/ocr.hpp"

namespace spirkiln {

Result<Dictionary> Dictionary::from_text(std::string_view text, const std::string& name) {
  constexpr std::size_t kMaxCharacters = 1u << 20;
  Dictionary out;
  // A line may be a blank character: only the newline itself (and a carriage return) is taken off.
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) end = text.size();
    std::string_view line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    out.characters_.emplace_back(line);
    if (out.characters_.size() > kMaxCharacters) {
      return Error{ErrorCode::kCorrupt, name + ": more than " + std::to_string(kMaxCharacters) +
                                            " lines, expected a dictionary of characters"};
    }
    at = end + 1;
  }
  if (out.characters_.empty()) {
    return Error{ErrorCode::kCorrupt,
                 name + ": empty, expected one character a line; fetch the models again"};
  }
  return out;
}

Result<Dictionary> Dictionary::open(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) {
    return Error{ErrorCode::kIo, path + ": cannot be opened: " + std::strerror(errno)};
  }
  constexpr std::size_t kMaxBytes = 16u << 20;
  std::string text;
  char piece[65536];
  for (std::size_t got; (got = std::fread(piece, 1, sizeof piece, file.get())) > 0;) {
    text.append(piece, got);
    if (text.size() > kMaxBytes) {
      return Error{ErrorCode::kCorrupt, path + ": too large for a dictionary"};
    }
  }
  if (std::ferror(file.get()) != 0) {
    return Error{ErrorCode::kIo, path + ": cannot be read: " + std::strerror(errno)};
  }
  return from_text(text, path);
}

std::string_view Dictionary::character(std::size_t index) const {
  if (index == 0) return {};
  if (index - 1 == characters_.size()) return " ";
  return characters_[index - 1];
}

}  // namespace spirkiln
