// SPDX-License-Identifier: Apache-2.0
// Text as a JSON string.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace spirkiln {

inline std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace spirkiln
