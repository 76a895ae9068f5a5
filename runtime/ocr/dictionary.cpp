// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <unordered_map>

#include "ocr/file.hpp"
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
  // What some editors put before UTF-8; it is no part of the first character.
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const auto wrong = [&](std::size_t line, const std::string& what) {
    return Error{ErrorCode::kCorrupt, name + ":" + std::to_string(line) + ": " + what +
                                          ", expected one character a line; fetch the models "
                                          "again"};
  };
  Dictionary out;
  std::unordered_map<std::string_view, std::size_t> seen;  // the line of each
  // A line may be a blank character: only the newline itself (and a carriage return) is taken off.
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t number = out.characters_.size() + 1;
    std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) end = text.size();
    std::string_view line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) return wrong(number, "an empty line");
    if (line.size() > kMaxCharacterBytes || !is_text(line)) {
      return wrong(number, "not a character in UTF-8");
    }
    const auto [first, is_new] = seen.emplace(line, number);
    if (!is_new) return wrong(number, "the character of line " + std::to_string(first->second));
    if (number > kMaxCharacters) {
      return Error{ErrorCode::kCorrupt, name + ": more than " + std::to_string(kMaxCharacters) +
                                            " lines, expected a dictionary of characters"};
    }
    out.characters_.emplace_back(line);
    at = end + 1;
  }
  if (out.characters_.empty()) {
    return Error{ErrorCode::kCorrupt,
                 name + ": empty, expected one character a line; fetch the models again"};
  }
  return out;
}

Result<Dictionary> Dictionary::open(const std::string& path) {
  const auto bytes = ocr::read_file(path, 16u << 20, "a dictionary");
  if (!bytes) return bytes.error();
  return from_text({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, path);
}

std::string_view Dictionary::character(std::size_t index) const {
  if (index == 0) return {};
  if (index - 1 == characters_.size()) return " ";
  return characters_[index - 1];
}

}  // namespace spirkiln
