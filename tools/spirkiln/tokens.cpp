// SPDX-License-Identifier: Apache-2.0
#include "tokens.hpp"

#include <algorithm>
#include <cctype>

namespace spirkiln::gen {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

constexpr std::string_view kPairs[] = {"==", "!=", "<=", ">=", "&&", "||", "^^", "++", "--", "+=",
                                       "-=", "*=", "/=", "%=", "<<", ">>", "&=", "|=", "^=", "##"};

}  // namespace

std::vector<Token> tokenize(std::string_view s) {
  std::vector<Token> tokens;
  unsigned line = 1;
  std::size_t line_begin = 0;
  bool directive = false;
  bool fresh = true;  // nothing but white space in this line so far
  std::size_t i = 0;
  const auto new_line = [&](std::size_t at) {
    ++line;
    line_begin = at + 1;
  };
  while (i < s.size()) {
    const char c = s[i];
    if (c == '\n') {
      new_line(i++);
      directive = false;
      fresh = true;
    } else if (c == '\\' && i + 1 < s.size() && s[i + 1] == '\n') {
      new_line(++i);
      ++i;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (s.substr(i, 2) == "//") {
      while (i < s.size() && s[i] != '\n') {
        if (s[i] == '\\' && i + 1 < s.size() && s[i + 1] == '\n') new_line(++i);
        ++i;
      }
    } else if (s.substr(i, 2) == "/*") {
      const std::size_t end = s.find("*/", i + 2);
      const std::size_t stop = end == std::string_view::npos ? s.size() : end + 2;
      for (; i < stop; ++i) {
        if (s[i] == '\n') new_line(i);
      }
    } else {
      if (fresh && c == '#') directive = true;
      fresh = false;
      Token t{TokenKind::kSymbol, {}, i, line, static_cast<unsigned>(i - line_begin + 1),
              directive};
      std::size_t end = i + 1;
      if (starts_name(c)) {
        t.kind = TokenKind::kName;
        while (end < s.size() && is_name(s[end])) ++end;
      } else if (is_digit(c) || (c == '.' && end < s.size() && is_digit(s[end]))) {
        t.kind = TokenKind::kNumber;
        while (end < s.size() &&
               (is_name(s[end]) || s[end] == '.' ||
                ((s[end] == '+' || s[end] == '-') && (s[end - 1] == 'e' || s[end - 1] == 'E') &&
                 s.substr(i, 2) != "0x" && s.substr(i, 2) != "0X"))) {
          ++end;
        }
      } else if (c == '"') {
        while (end < s.size() && s[end] != '"' && s[end] != '\n') ++end;
        if (end < s.size() && s[end] == '"') ++end;
      } else if (s.substr(i, 3) == "<<=" || s.substr(i, 3) == ">>=") {
        end += 2;
      } else if (std::find(std::begin(kPairs), std::end(kPairs), s.substr(i, 2)) !=
                 std::end(kPairs)) {
        ++end;
      }
      t.text = s.substr(i, end - i);
      tokens.push_back(t);
      i = end;
    }
  }
  return tokens;
}

}  // namespace spirkiln::gen
