// SPDX-License-Identifier: Apache-2.0
#include "link_errors.hpp"

#include <fmt/format.h>

#include "expanded_text.hpp"
#include "tokens.hpp"

namespace spirkiln::gen {
namespace {

// The token behind the bracket that closes the one at `open`.
std::size_t behind(const std::vector<Token>& tokens, std::size_t open, std::string_view opening,
                   std::string_view closing) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].text == opening) ++depth;
    if (tokens[i].text == closing && --depth == 0) return i + 1;
  }
  return tokens.size();
}

// Where `caller` is defined with a call of `callee` in it.
const Token* find_definition(const std::vector<Token>& tokens, std::string_view caller,
                             std::string_view callee) {
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].text != caller || tokens[i + 1].text != "(") continue;
    const std::size_t body = behind(tokens, i + 1, "(", ")");
    if (body >= tokens.size() || tokens[body].text != "{") continue;
    const std::size_t end = behind(tokens, body, "{", "}");
    for (std::size_t b = body; b + 1 < end; ++b) {
      if (tokens[b].text == callee && tokens[b + 1].text == "(") return &tokens[i];
    }
  }
  return nullptr;
}

// "    f(i1; calling g(f1;": the names alone.
bool read_call(std::string_view log, std::string_view& caller, std::string_view& callee) {
  constexpr std::string_view kWord = " calling ";
  const std::size_t word = log.find(kWord);
  if (word == std::string_view::npos) return false;
  const std::size_t row = log.rfind('\n', word);
  caller = log.substr(row == std::string_view::npos ? 0 : row + 1, word);
  while (!caller.empty() && caller.front() == ' ') caller.remove_prefix(1);
  caller = caller.substr(0, caller.find('('));
  callee = log.substr(word + kWord.size());
  callee = callee.substr(0, callee.find('('));
  return !caller.empty() && !callee.empty();
}

}  // namespace

std::vector<Diagnostic> parse_link_log(std::string_view log, std::string_view expanded,
                                       const std::string& name, SourceStore& sources) {
  Diagnostic d{Severity::kError, name, 0, 0, {}};
  if (log.find("Missing entry point") != std::string_view::npos) {
    d.text = "no 'void main()'; every kernel has one";
    return {d};
  }
  std::string_view caller;
  std::string_view callee;
  if (log.find("Recursion detected") == std::string_view::npos || !read_call(log, caller, callee)) {
    return parse_glslang_log(log, sources);
  }
  d.text = caller == callee
               ? fmt::format("'{}': this function calls itself; GLSL has no recursion", caller)
               : fmt::format(
                     "'{}': this function comes back to itself through '{}'; GLSL has no "
                     "recursion",
                     caller, callee);
  const auto tokens = tokenize(expanded);
  if (const Token* definition = find_definition(tokens, caller, callee)) {
    const Place place = place_of(expanded, definition->offset, name);
    d.file = place.file;
    d.line = place.line;
    if (auto source = sources.find(d.file); source.ok() && *source) {
      d.column = column_of(line_of((*source)->text, d.line), caller);
    }
  }
  return {d};
}

}  // namespace spirkiln::gen
