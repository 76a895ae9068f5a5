// SPDX-License-Identifier: Apache-2.0
// Pieces of JSON.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace spirkiln::gen {

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

template <typename Range, typename Function>
std::string json_list(const Range& items, const Function& item) {
  std::string out = "[";
  for (const auto& i : items) {
    if (out.size() > 1) out += ", ";
    out += item(i);
  }
  return out + "]";
}

}  // namespace spirkiln::gen
