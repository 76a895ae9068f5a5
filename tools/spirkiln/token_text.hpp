// SPDX-License-Identifier: Apache-2.0
// An expanded text as a row of pieces that can be changed, and the extents of its expressions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens.hpp"

namespace spirkiln::gen {

// One token, and what stood between it and the token before: white space and directives.
struct Piece {
  std::string gap;
  std::string text;
  TokenKind kind = TokenKind::kSymbol;
};

// A half-open range of pieces.
struct Extent {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class TokenText {
 public:
  explicit TokenText(std::string_view expanded);

  // The text with its own lines.
  std::string text() const;
  // One token a line, so that a compiler's line tells which token it means; #line left out.
  std::string rows() const;
  // The token in a line of the last rows().
  std::optional<std::size_t> piece_at(unsigned row) const;

  std::size_t size() const { return pieces_.size(); }
  // Past the end: empty.
  std::string_view operator[](std::size_t i) const;
  bool is_name(std::size_t i) const;
  bool is_number(std::size_t i) const;
  void set_text(std::size_t i, std::string_view text) { pieces_[i].text = text; }

  // Puts `head` and "(" before the range and ")" behind it.
  void wrap(Extent range, std::string_view head);
  // `text` is tokens apart by spaces; they go before piece `at`.
  void insert(std::size_t at, std::string_view text);
  // Words of the directives, in every gap.
  void replace_in_directives(std::string_view from, std::string_view to);

  // The piece that closes the bracket at `open`, or opens the one at `close`; size() where none.
  std::size_t closing(std::size_t open) const;
  std::size_t opening(std::size_t close) const;
  // The bracket that piece `i` stands in; size() at the outermost level.
  std::size_t enclosing(std::size_t i) const;

  // What stands right and left of the binary operator at `op`, with all that binds tighter.
  std::optional<Extent> right_operand(std::size_t op) const;
  std::optional<Extent> left_operand(std::size_t op) const;
  // From `begin` up to the comma, bracket or semicolon that ends an assignment's right side.
  Extent expression(std::size_t begin) const;
  // The ':' that belongs to the '?' at `question`; size() where none.
  std::size_t colon_of(std::size_t question) const;
  // What is between the brackets, cut at its commas.
  std::vector<Extent> arguments(std::size_t open) const;

 private:
  std::size_t unary_end(std::size_t begin) const;
  std::size_t postfix_begin(std::size_t last) const;

  std::vector<Piece> pieces_;
  std::string tail_;
  mutable std::vector<std::size_t> rows_;  // by line; size() for a directive
};

}  // namespace spirkiln::gen
