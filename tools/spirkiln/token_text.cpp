// SPDX-License-Identifier: Apache-2.0
#include "token_text.hpp"

#include <algorithm>
#include <iterator>

namespace spirkiln::gen {
namespace {

// How tightly a binary operator binds; 0 for what is none.
int binding(std::string_view op) {
  if (op == "*" || op == "/" || op == "%") return 10;
  if (op == "+" || op == "-") return 9;
  if (op == "<<" || op == ">>") return 8;
  if (op == "<" || op == ">" || op == "<=" || op == ">=") return 7;
  if (op == "==" || op == "!=") return 6;
  if (op == "&") return 5;
  if (op == "^") return 4;
  if (op == "|") return 3;
  if (op == "&&") return 2;
  if (op == "^^" || op == "||") return 1;
  return 0;
}

bool is_prefix(std::string_view text) {
  return text == "-" || text == "+" || text == "!" || text == "~" || text == "++" || text == "--";
}

bool opens(std::string_view text) { return text == "(" || text == "[" || text == "{"; }
bool closes(std::string_view text) { return text == ")" || text == "]" || text == "}"; }

// Names that a bracket may follow without being called.
bool is_keyword(std::string_view text) {
  for (std::string_view word : {"return", "if", "while", "for", "switch", "else", "case", "do"}) {
    if (text == word) return true;
  }
  return false;
}

// Directive lines, or the rest, of what stands between two tokens.
template <typename Take>
void each_directive(std::string_view gap, Take take) {
  while (!gap.empty()) {
    const std::size_t end = std::min(gap.find('\n'), gap.size());
    const std::string_view row = gap.substr(0, end);
    gap.remove_prefix(std::min(end + 1, gap.size()));
    const std::size_t first = row.find_first_not_of(" \t");
    if (first != std::string_view::npos && row[first] == '#') take(row);
  }
}

}  // namespace

TokenText::TokenText(std::string_view expanded) {
  std::size_t from = 0;
  for (const Token& t : tokenize(expanded)) {
    if (t.directive) continue;
    pieces_.push_back(
        {std::string(expanded.substr(from, t.offset - from)), std::string(t.text), t.kind});
    from = t.offset + t.text.size();
  }
  tail_ = expanded.substr(from);
}

std::string TokenText::text() const {
  std::string out;
  for (const Piece& piece : pieces_) {
    out += piece.gap;
    out += piece.text;
  }
  return out + tail_;
}

std::string TokenText::rows() const {
  std::string out;
  rows_.assign(1, size());  // lines count from 1
  const auto directives = [&](std::string_view gap) {
    each_directive(gap, [&](std::string_view row) {
      if (row.find("#line") != std::string_view::npos) return;
      out += row;
      out += '\n';
      rows_.push_back(size());
    });
  };
  for (std::size_t i = 0; i < size(); ++i) {
    directives(pieces_[i].gap);
    out += pieces_[i].text;
    out += '\n';
    rows_.push_back(i);
  }
  directives(tail_);
  return out;
}

std::optional<std::size_t> TokenText::piece_at(unsigned row) const {
  if (row >= rows_.size() || rows_[row] >= size()) return std::nullopt;
  return rows_[row];
}

std::string_view TokenText::operator[](std::size_t i) const {
  return i < size() ? std::string_view(pieces_[i].text) : std::string_view();
}

bool TokenText::is_name(std::size_t i) const {
  return i < size() && pieces_[i].kind == TokenKind::kName;
}

bool TokenText::is_number(std::size_t i) const {
  return i < size() && pieces_[i].kind == TokenKind::kNumber;
}

void TokenText::wrap(Extent range, std::string_view head) {
  pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(range.end), Piece{"", ")"});
  pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(range.begin), Piece{"", "("});
  pieces_.insert(
      pieces_.begin() + static_cast<std::ptrdiff_t>(range.begin),
      Piece{std::move(pieces_[range.begin + 1].gap), std::string(head), TokenKind::kName});
  pieces_[range.begin + 2].gap.clear();
}

void TokenText::insert(std::size_t at, std::string_view text) {
  std::vector<Piece> added;
  for (const Token& t : tokenize(text)) added.push_back({" ", std::string(t.text), t.kind});
  if (added.empty()) return;
  if (at < size()) {
    added.front().gap = std::move(pieces_[at].gap);
    pieces_[at].gap = " ";
  }
  pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(at),
                 std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
}

void TokenText::replace_in_directives(std::string_view from, std::string_view to) {
  const auto replace = [&](std::string& gap) {
    if (gap.find('#') == std::string::npos) return;
    for (std::size_t at = gap.find(from); at != std::string::npos; at = gap.find(from, at)) {
      gap.replace(at, from.size(), to);
      at += to.size();
    }
  };
  for (Piece& piece : pieces_) replace(piece.gap);
  replace(tail_);
}

std::size_t TokenText::closing(std::size_t open) const {
  std::size_t depth = 0;
  for (std::size_t i = open; i < size(); ++i) {
    if (opens(pieces_[i].text)) ++depth;
    if (closes(pieces_[i].text) && --depth == 0) return i;
  }
  return size();
}

std::size_t TokenText::opening(std::size_t close) const {
  std::size_t depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (closes(pieces_[i].text)) ++depth;
    if (opens(pieces_[i].text) && --depth == 0) return i;
  }
  return size();
}

std::size_t TokenText::enclosing(std::size_t i) const {
  std::size_t depth = 1;
  while (i-- > 0) {
    if (closes(pieces_[i].text)) ++depth;
    if (opens(pieces_[i].text) && --depth == 0) return i;
  }
  return size();
}

std::size_t TokenText::unary_end(std::size_t begin) const {
  std::size_t i = begin;
  while (i < size() && is_prefix(pieces_[i].text)) ++i;
  if (i >= size()) return begin;
  if (pieces_[i].text == "(") {
    i = closing(i) + 1;
  } else if (pieces_[i].kind != TokenKind::kSymbol) {
    ++i;
  } else {
    return begin;
  }
  while (i < size()) {
    const std::string_view text = pieces_[i].text;
    if (text == "(" || text == "[") {
      i = closing(i) + 1;
    } else if (text == ".") {
      i += 2;
    } else if (text == "++" || text == "--") {
      ++i;
    } else {
      break;
    }
  }
  return std::min(i, size());
}

std::optional<Extent> TokenText::right_operand(std::size_t op) const {
  const int own = binding((*this)[op]);
  std::size_t end = unary_end(op + 1);
  if (end <= op + 1) return std::nullopt;
  while (binding((*this)[end]) > own) {
    const std::size_t next = unary_end(end + 1);
    if (next <= end + 1) return std::nullopt;
    end = next;
  }
  return Extent{op + 1, end};
}

// The first piece of the postfix expression that ends with piece `last`; size() where there is
// none.
std::size_t TokenText::postfix_begin(std::size_t last) const {
  std::size_t i = last;
  if (((*this)[i] == "++" || (*this)[i] == "--") && i > 0) --i;
  while (true) {
    const std::string_view text = (*this)[i];
    if (text == ")" || text == "]") {
      const std::size_t open = opening(i);
      if (open >= size()) return size();
      const bool more = open > 0 && ((is_name(open - 1) && !is_keyword(pieces_[open - 1].text)) ||
                                     (*this)[open - 1] == "]" || (*this)[open - 1] == ")");
      // "if (a) (b) = c": what precedes is no part of it.
      const bool called = more && (is_name(open - 1) || text == "]" || (*this)[open - 1] == "]");
      if (!called) return text == ")" ? open : size();
      i = open - 1;
    } else if (i < size() && pieces_[i].kind != TokenKind::kSymbol) {
      if (i < 2 || (*this)[i - 1] != ".") return i;
      i -= 2;
    } else {
      return size();
    }
  }
}

std::optional<Extent> TokenText::left_operand(std::size_t op) const {
  const int own = binding((*this)[op]);
  std::size_t end = op;
  while (end > 0) {
    std::size_t begin = postfix_begin(end - 1);
    if (begin >= size()) return std::nullopt;
    // Prefixes: what follows a value is a binary operator.
    while (begin > 0 && is_prefix((*this)[begin - 1])) {
      const std::string_view before = begin > 1 ? (*this)[begin - 2] : std::string_view(";");
      const bool value =
          before == ")" || before == "]" || before == "++" || before == "--" ||
          (begin > 1 && pieces_[begin - 2].kind != TokenKind::kSymbol && !is_keyword(before));
      if (value) break;
      --begin;
    }
    if (own == 0 || begin == 0 || binding((*this)[begin - 1]) < own) return Extent{begin, op};
    end = begin - 1;
  }
  return std::nullopt;
}

Extent TokenText::expression(std::size_t begin) const {
  std::size_t questions = 0;
  std::size_t i = begin;
  for (; i < size(); ++i) {
    const std::string_view text = pieces_[i].text;
    if (opens(text)) {
      i = closing(i);
    } else if (closes(text) || text == "," || text == ";") {
      break;
    } else if (text == "?") {
      ++questions;
    } else if (text == ":" && questions-- == 0) {
      break;
    }
  }
  return {begin, std::min(i, size())};
}

std::size_t TokenText::colon_of(std::size_t question) const {
  std::size_t depth = 0;
  for (std::size_t i = question + 1; i < size(); ++i) {
    const std::string_view text = pieces_[i].text;
    if (opens(text)) {
      i = closing(i);
    } else if (closes(text) || text == ";") {
      break;
    } else if (text == "?") {
      ++depth;
    } else if (text == ":" && depth-- == 0) {
      return i;
    }
  }
  return size();
}

std::vector<Extent> TokenText::arguments(std::size_t open) const {
  std::vector<Extent> found;
  const std::size_t close = closing(open);
  if (close >= size() || close == open + 1) return found;
  std::size_t begin = open + 1;
  for (std::size_t i = begin; i <= close; ++i) {
    if (opens(pieces_[i].text)) {
      i = closing(i);
      continue;
    }
    if (i == close || pieces_[i].text == ",") {
      found.push_back({begin, i});
      begin = i + 1;
    }
  }
  return found;
}

}  // namespace spirkiln::gen
