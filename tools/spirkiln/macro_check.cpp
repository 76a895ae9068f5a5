// SPDX-License-Identifier: Apache-2.0
#include "macro_check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spirkiln::gen {
namespace {

constexpr std::size_t kMaxName = 256;
constexpr std::size_t kMaxValue = 4096;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Names that belong to the dialect, to GLSL or to this tool.
bool is_reserved(std::string_view s) {
  for (std::string_view prefix : {"SPIRKILN_", "spk_", "gl_", "GL_"}) {
    if (s.starts_with(prefix)) return true;
  }
  return s == "defined" || s == "psc" || s == "main" || s.find("__") != std::string_view::npos;
}

}  // namespace

std::optional<std::string> bad_macro_name(std::string_view name) {
  if (name.size() > kMaxName) {
    return fmt::format("'{}...': a macro's name has at most {} letters", name.substr(0, 40),
                       kMaxName);
  }
  if (name.empty() || is_digit(name[0]) ||
      !std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); })) {
    return fmt::format("'{}' is not a macro name: expected letters, digits and _, no digit first",
                       name);
  }
  if (is_reserved(name)) return fmt::format("the name '{}' is reserved", name);
  return std::nullopt;
}

std::optional<std::string> bad_macro_value(std::string_view value) {
  if (value.size() > kMaxValue) {
    return fmt::format("a macro's value has at most {} bytes, not {}", kMaxValue, value.size());
  }
  for (const char c : value) {
    if (c == '\n' || c == '\r') return "a macro's value must be one line";
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t') {
      return fmt::format("a macro's value holds the control character {:#04x}",
                         static_cast<unsigned>(c));
    }
  }
  if (value.ends_with('\\')) {
    return "a macro's value ends in '\\', which would take the next line into it";
  }
  for (std::size_t i = 0; i + 1 < value.size(); ++i) {
    if (value.substr(i, 2) == "//") break;
    if (value.substr(i, 2) != "/*") continue;
    const std::size_t end = value.find("*/", i + 2);
    if (end == std::string_view::npos) {
      return "a macro's value opens a comment ('/*') and does not close it";
    }
    i = end + 1;
  }
  return std::nullopt;
}

}  // namespace spirkiln::gen
