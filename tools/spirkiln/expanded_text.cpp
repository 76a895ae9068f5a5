// SPDX-License-Identifier: Apache-2.0
#include "expanded_text.hpp"

#include <algorithm>
#include <charconv>

#include "tokens.hpp"

namespace spirkiln::gen {
namespace {

// Cheap, and never wrong when it says no: most texts have no such directive.
bool may_have_line_directive(std::string_view text) {
  for (std::size_t at = text.find("line"); at != std::string_view::npos;
       at = text.find("line", at + 1)) {
    std::size_t i = at;
    while (i > 0 && (text[i - 1] == ' ' || text[i - 1] == '\t')) --i;
    // Behind the '#', a comment or a line that goes on.
    if (i > 0 && (text[i - 1] == '#' || text[i - 1] == '/' || text[i - 1] == '\n')) return true;
  }
  return false;
}

}  // namespace

std::string line_name(const std::string& file) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char letter : file) {
    const auto c = static_cast<unsigned char>(letter);
    if (c < 0x20 || c == 0x7f || c == '"' || c == '\\' || c == '%' || c == ':') {
      out += {'%', kHex[c >> 4], kHex[c & 15]};
    } else {
      out += letter;
    }
  }
  return out;
}

std::string from_line_name(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    unsigned value = 0;
    const char* digits = name.data() + i + 1;
    if (name[i] == '%' && i + 2 < name.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += name[i];
    }
  }
  return out;
}

Place place_of(std::string_view expanded, std::size_t offset, const std::string& name) {
  Place place{name, 1};
  for (std::size_t at = 0; at < expanded.size();) {
    const std::size_t end = std::min(expanded.find('\n', at), expanded.size());
    std::string_view row = expanded.substr(at, end - at);
    if (offset <= end) return place;
    at = end + 1;
    if (!row.starts_with("#line ")) {
      ++place.line;
      continue;
    }
    row.remove_prefix(6);
    unsigned line = 0;
    const auto parsed = std::from_chars(row.data(), row.data() + row.size(), line);
    if (parsed.ec != std::errc{}) continue;
    place.line = line;
    const std::size_t open = row.find('"');
    const std::size_t close = row.rfind('"');
    if (open != std::string_view::npos && close > open) {
      place.file = from_line_name(row.substr(open + 1, close - open - 1));
    }
  }
  return place;
}

std::string without_line_directives(const std::string& source) {
  if (!may_have_line_directive(source)) return source;
  std::string text = source;
  const auto tokens = tokenize(source);
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (!tokens[i].directive || tokens[i].text != "#") continue;
    if (!tokens[i + 1].directive || tokens[i + 1].text != "line") continue;
    // To the end of the directive: the next one begins with a '#' in another line.
    const Token& hash = tokens[i];
    for (std::size_t k = i; k < tokens.size() && tokens[k].directive; ++k) {
      if (k != i && tokens[k].text == "#" && tokens[k].line != hash.line) break;
      std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(tokens[k].offset),
                  tokens[k].text.size(), ' ');
    }
  }
  return text;
}

}  // namespace spirkiln::gen
