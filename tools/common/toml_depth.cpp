// SPDX-License-Identifier: Apache-2.0
#include "toml_depth.hpp"

#include <algorithm>

namespace spirkiln::tool {
namespace {

// Behind the string that begins at `at`. One that does not end, ends with its line (or the text):
// the parser reports it.
std::size_t behind_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const bool escapes = quote == '"';
  const bool multiline = at + 2 < text.size() && text[at + 1] == quote && text[at + 2] == quote;
  at += multiline ? 3 : 1;
  for (; at < text.size(); ++at) {
    if (escapes && text[at] == '\\') {
      ++at;
    } else if (!multiline && text[at] == '\n') {
      return at;
    } else if (text[at] == quote) {
      if (!multiline) return at + 1;
      if (at + 2 < text.size() && text[at + 1] == quote && text[at + 2] == quote) {
        at += 3;
        while (at < text.size() && text[at] == quote) ++at;  // up to two belong to the string
        return at;
      }
    }
  }
  return text.size();
}

}  // namespace

// Dots that follow each other with nothing but names, quoted names and blanks between them: in keys
// that is their depth, and in values there is one dot at most, so what is a key need not be known.
std::optional<TextPosition> find_deep_key(std::string_view text) {
  std::size_t dots = 0;
  std::size_t begin = 0;  // of the key or value
  bool blank = true;  // nothing of it was seen yet
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '\n' || c == ',' || c == '=' || c == '[' || c == ']' || c == '{' || c == '}') {
      dots = 0;
      blank = true;
      ++at;
      continue;
    }
    if (blank && c != ' ' && c != '\t' && c != '\r') {
      blank = false;
      begin = at;
    }
    if (c == '.' && ++dots >= kMaxKeyParts) {
      TextPosition position;
      for (std::size_t i = 0; i < begin; ++i) {
        position.column = text[i] == '\n' ? 1 : position.column + 1;
        position.line += text[i] == '\n' ? 1 : 0;
      }
      return position;
    }
    at = c == '"' || c == '\'' ? behind_string(text, at) : at + 1;
  }
  return std::nullopt;
}

}  // namespace spirkiln::tool
