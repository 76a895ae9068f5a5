// SPDX-License-Identifier: Apache-2.0
#include "compose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace spirkiln::gen {
namespace {

// Offset of the '#' of the #version directive, or npos. Only white space and comments may precede.
std::size_t find_version(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      if (end == std::string_view::npos) return end;
      i = end + 2;
    } else {
      break;
    }
  }
  if (i >= text.size() || text[i] != '#') return std::string_view::npos;
  std::size_t word = i + 1;
  while (word < text.size() && (text[word] == ' ' || text[word] == '\t')) ++word;
  return text.substr(word).starts_with("version") ? i : std::string_view::npos;
}

}  // namespace

Composed compose(const SourceFile& kernel, const Variant& variant) {
  const std::string_view text = kernel.text;
  const std::size_t version = find_version(text);
  if (version == std::string_view::npos) {
    return {{},
            Diagnostic{Severity::kError, kernel.path.string(), 1, 1,
                       "expected '#version 450' as the first line of code"}};
  }
  std::size_t body = std::min(text.find('\n', version), text.size());
  if (body < text.size()) ++body;
  const auto next_line = 1 + std::count(text.begin(), text.begin() + body, '\n');

  std::string out(text.substr(0, body));
  // For #include and for file names in #line.
  out += "#extension GL_GOOGLE_include_directive : require\n";
  for (const auto& [name, value] : variant.macros)
    out += fmt::format("#define {} {}\n", name, value);
  out += fmt::format("#include \"{}\"\n", kDialectInclude);
  // A file name cannot hold a quote in a directive; only messages would suffer.
  std::string shown = kernel.path.string();
  std::replace(shown.begin(), shown.end(), '"', '\'');
  out += fmt::format("#line {} \"{}\"\n", next_line, shown);
  out += text.substr(body);
  return {std::move(out), std::nullopt};
}

}  // namespace spirkiln::gen
