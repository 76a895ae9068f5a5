// SPDX-License-Identifier: Apache-2.0
#include "original_reading.hpp"

#include <string_view>
#include <vector>

#include "tokens.hpp"

namespace spirkiln::gen {
namespace {

bool is_store(std::string_view name) {
  for (std::string_view family :
       {"buffer_", "i8buffer_", "i16buffer_", "image1d_", "image2d_", "image3d_"}) {
    if (!name.starts_with(family)) continue;
    name.remove_prefix(family.size());
    return name.starts_with("st") || name.starts_with("cp");
  }
  return false;
}

// Kernels of the first half of 2023 declare the dialect's own struct by themselves.
void blank_sfpvec8(const std::vector<Token>& tokens, std::string& text) {
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
}

// Whether a statement may begin with the token, or a block end: nothing that continues a call.
bool starts_anew(const Token& t) {
  return t.kind != TokenKind::kSymbol || t.text == "}" || t.text == "{" || t.text == "(" ||
         t.text == "++" || t.text == "--" || t.text == "#";
}

bool lacks_end(const std::vector<Token>& tokens, std::size_t call, std::size_t close) {
  if (call > 0 && tokens[call - 1].kind == TokenKind::kName && tokens[call - 1].text != "else" &&
      tokens[call - 1].text != "do") {
    return false;  // a declaration or #define
  }
  if (close + 1 >= tokens.size()) return !tokens[call].directive;
  const Token& next = tokens[close + 1];
  // The end of a macro is ended where the macro is used.
  if (tokens[call].directive && (!next.directive || next.text == "#")) return false;
  return starts_anew(next);
}

std::vector<std::size_t> missing_ends(const std::vector<Token>& tokens) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (!is_store(tokens[i].text) || tokens[i + 1].text != "(") continue;
    std::size_t depth = 0;
    for (std::size_t k = i + 1; k < tokens.size(); ++k) {
      const std::string_view text = tokens[k].text;
      if (text == ";" || text == "{" || text == "}") break;
      if (text == "(") ++depth;
      if (text != ")" || --depth != 0) continue;
      if (lacks_end(tokens, i, k)) found.push_back(tokens[k].offset + 1);
      break;
    }
  }
  return found;
}

}  // namespace

std::string read_as_original(const std::string& source) {
  std::string text = source;
  const bool has_struct = text.find("sfpvec8") != std::string::npos;
  const bool has_store =
      text.find("_st") != std::string::npos || text.find("_cp") != std::string::npos;
  if (!has_struct && !has_store) return text;
  const auto tokens = tokenize(source);
  if (has_struct) blank_sfpvec8(tokens, text);
  const auto ends = missing_ends(tokens);
  for (auto at = ends.rbegin(); at != ends.rend(); ++at) text.insert(*at, 1, ';');
  return text;
}

}  // namespace spirkiln::gen
