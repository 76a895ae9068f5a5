// SPDX-License-Identifier: Apache-2.0
#include "compose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tokens.hpp"

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

// Kernels of the first half of 2023 declare the dialect's own struct by themselves. Theirs is
// blanked, with every line end in its place.
std::string without_own_sfpvec8(const std::string& source) {
  std::string text = source;
  if (text.find("sfpvec8") == std::string::npos) return text;
  const auto tokens = tokenize(source);
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i].text != "struct" || tokens[i + 1].text != "sfpvec8" || tokens[i + 2].text != "{")
      continue;
    std::size_t end = i + 3;
    while (end < tokens.size() && tokens[end].text != "}") ++end;
    if (end + 1 >= tokens.size() || tokens[end + 1].text != ";") continue;
    for (std::size_t at = tokens[i].offset; at <= tokens[end + 1].offset; ++at) {
      if (text[at] != '\n') text[at] = ' ';
    }
  }
  return text;
}

}  // namespace

Composed compose(const SourceFile& kernel, const Variant& variant,
                 const std::optional<std::array<unsigned, 3>>& local_size) {
  const std::string masked = without_own_sfpvec8(kernel.text);
  const std::string_view text = masked;
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
  if (local_size) {
    out += fmt::format("layout(local_size_x = {}, local_size_y = {}, local_size_z = {}) in;\n",
                       (*local_size)[0], (*local_size)[1], (*local_size)[2]);
  }
  // A file name cannot hold a quote in a directive; only messages would suffer.
  std::string shown = kernel.path.string();
  std::replace(shown.begin(), shown.end(), '"', '\'');
  out += fmt::format("#line {} \"{}\"\n", next_line, shown);
  out += text.substr(body);
  return {std::move(out), std::nullopt};
}

}  // namespace spirkiln::gen
