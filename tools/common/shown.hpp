// SPDX-License-Identifier: Apache-2.0
// Names as messages show them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace spirkiln::tool {

// Control characters as C writes them ("\n", "\x1b"): a name neither breaks a message into two
// lines nor moves a terminal's cursor. All else stays as it is.
inline std::string shown(std::string_view name) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    const auto next = i + 1 < name.size() ? static_cast<unsigned char>(name[i + 1]) : 0u;
    // U+0080 to U+009F are control characters, too; UTF-8 writes them in two bytes.
    const bool two = c == 0xc2 && next >= 0x80 && next <= 0x9f;
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c == 0x7f || two) {
      for (std::size_t k = 0; k < (two ? 2u : 1u); ++k) {
        const auto byte = static_cast<unsigned char>(name[i + k]);
        out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      }
      i += two ? 1 : 0;
    } else {
      out += name[i];
    }
  }
  return out;
}

inline std::string shown(const std::string& name) { return shown(std::string_view(name)); }

inline std::string shown(const std::filesystem::path& path) {
  return shown(std::string_view(path.native()));
}

// A message of a library about `name`, which holds the name as it is.
inline std::string with_shown(std::string message, const std::string& name) {
  const std::string safe = shown(name);
  if (safe == name) return message;  // an empty one, too
  for (std::size_t at = message.find(name); at != std::string::npos;
       at = message.find(name, at + safe.size())) {
    message.replace(at, name.size(), safe);
  }
  return message;
}

}  // namespace spirkiln::tool
