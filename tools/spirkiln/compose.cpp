// SPDX-License-Identifier: Apache-2.0
#include "compose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "expanded_text.hpp"
#include "original_reading.hpp"
#include "tokens.hpp"

namespace spirkiln::gen {
namespace {

struct Version {
  std::optional<std::size_t> hash;  // offset of the '#'; nothing without a #version line
  std::string asked;                // "310 es"
};

constexpr std::string_view kVersions[] = {"450", "450 core", "460", "460 core"};

// Only white space and comments may precede it.
Version find_version(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      if (end == std::string_view::npos) return {};
      i = end + 2;
    } else {
      break;
    }
  }
  if (i >= text.size() || text[i] != '#') return {};
  const auto tokens = tokenize(text.substr(i, text.find('\n', i) - i));
  if (tokens.size() < 2 || tokens[1].text != "version") return {};
  Version version{i, {}};
  for (std::size_t t = 2; t < tokens.size(); ++t) {
    version.asked += version.asked.empty() ? "" : " ";
    version.asked += tokens[t].text.substr(0, 40);
    if (version.asked.size() > 80) break;
  }
  return version;
}

// The compiler only says that the text ends in one.
std::optional<std::size_t> unclosed_comment(std::string_view text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text.substr(i, 2) == "//") {
      while (i < text.size() && (text[i] != '\n' || text[i - 1] == '\\')) ++i;
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      if (end == std::string_view::npos) return i;
      i = end + 1;
    }
  }
  return std::nullopt;
}

}  // namespace

Composed compose(const SourceFile& kernel, const Variant& variant,
                 const std::optional<std::array<unsigned, 3>>& local_size) {
  const std::string masked = read_as_original(without_line_directives(kernel.text));
  const std::string_view text = masked;
  const Version version = find_version(text);
  const auto fail = [&](std::size_t at, std::string said) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
    const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    return Composed{{},
                    Diagnostic{Severity::kError, kernel.path.string(), static_cast<unsigned>(line),
                               static_cast<unsigned>(at - begin + 1), std::move(said)}};
  };
  if (const auto open = unclosed_comment(text)) {
    return fail(*open, "'/*': this comment has no end ('*/')");
  }
  if (!version.hash) return fail(0, "expected '#version 450' as the first line of code");
  if (std::find(std::begin(kVersions), std::end(kVersions), version.asked) == std::end(kVersions)) {
    return fail(*version.hash, fmt::format("'#version {}': kernels are written in '#version 450' "
                                           "(or 460)",
                                           version.asked));
  }
  std::size_t body = std::min(text.find('\n', *version.hash), text.size());
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
  out += fmt::format("#line {} \"{}\"\n", next_line, line_name(kernel.path.string()));
  out += text.substr(body);
  return {std::move(out), std::nullopt};
}

}  // namespace spirkiln::gen
