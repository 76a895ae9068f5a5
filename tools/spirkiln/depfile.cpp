// SPDX-License-Identifier: Apache-2.0
#include "depfile.hpp"

#include <fmt/format.h>

#include "shown.hpp"

namespace spirkiln::gen {
namespace {

Result<std::string> escape(const std::filesystem::path& path) {
  const std::string text = path.generic_string();
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r') {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("a depfile cannot name '{}': it holds a line break", tool::shown(text))};
    }
    if (c == '$') {
      out += "$$";
    } else if (c == '#' || c == ' ' || c == '\t' || c == ':') {
      // Backslashes before an escaped character stand for themselves only when doubled.
      for (std::size_t b = i; b > 0 && text[b - 1] == '\\' && c != '#' && c != ':'; --b)
        out += '\\';
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Result<std::string> emit_depfile(const std::vector<std::filesystem::path>& outputs,
                                 const std::vector<std::filesystem::path>& inputs) {
  std::string out;
  for (const auto& path : outputs) {
    auto text = escape(path);
    if (!text.ok()) return text;
    if (!out.empty()) out += ' ';
    out += *text;
  }
  out += ':';
  for (const auto& path : inputs) {
    auto text = escape(path);
    if (!text.ok()) return text;
    out += " \\\n  " + *text;
  }
  out += '\n';
  return out;
}

}  // namespace spirkiln::gen
