// SPDX-License-Identifier: Apache-2.0
// What users wrote, as messages show it.
#pragma once

#include <string>
#include <string_view>

namespace spirkiln {

// Control bytes as "\x1b": a value of the environment neither breaks a message into two lines nor
// moves a terminal's cursor.
inline std::string printable(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

}  // namespace spirkiln
