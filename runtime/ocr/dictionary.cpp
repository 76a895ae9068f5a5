// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

#include "spirkiln/ocr.hpp"

namespace spirkiln {
namespace {

// A character with its combining marks is short; what is longer is another kind of file.
constexpr std::size_t kMaxCharacterBytes = 64;

// Whether the bytes are UTF-8 text without control characters: shortest forms only, no surrogates,
// nothing above U+10FFFF.
bool is_text(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    const std::size_t more = lead < 0x80   ? 0
                             : lead < 0xc2 ? 4  // a tail without a lead, or an overlong form
                             : lead < 0xe0 ? 1
                             : lead < 0xf0 ? 2
                             : lead < 0xf5 ? 3
                                           : 4;
    if (more == 4 || i + more >= bytes.size()) return false;
    if (lead < 0x20 || lead == 0x7f) return false;
    std::uint32_t code = more == 0 ? lead : lead & (0x3fu >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      const auto tail = static_cast<unsigned char>(bytes[i + k]);
      if ((tail & 0xc0) != 0x80) return false;
      code = code << 6 | (tail & 0x3f);
    }
    if (more == 2 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) return false;
    if (more == 3 && (code < 0x10000 || code > 0x10ffff)) return false;
    i += more + 1;
  }
  return true;
}

}  // namespace

Result<Dictionary> Dictionary::from_text(std::string_view text, const std::string& name) {
  constexpr std::size_t kMaxCharacters = 1u << 20;
  Dictionary out;
  // A line may be a blank character: only the newline itself (and a carriage return) is taken off.
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) end = text.size();
    std::string_view line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.size() > kMaxCharacterBytes || !is_text(line)) {
      return Error{
          ErrorCode::kCorrupt,
          name + ":" + std::to_string(out.characters_.size() + 1) +
              ": not a character in UTF-8, expected one character a line; fetch the models "
              "again"};
    }
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
