// SPDX-License-Identifier: Apache-2.0
// GLSL as a row of tokens, for the few questions that glslang does not answer.
#pragma once

#include <string_view>
#include <vector>

namespace spirkiln::gen {

enum class TokenKind { kName, kNumber, kSymbol };

struct Token {
  TokenKind kind;
  std::string_view text;  // into the source
  std::size_t offset;     // from the source's begin
  unsigned line;          // from 1
  unsigned column;        // from 1
  bool directive;         // in a line that begins with '#', or a continuation of one
};

// Comments are left out; a symbol is an operator, a quoted string, or one other character.
std::vector<Token> tokenize(std::string_view source);

}  // namespace spirkiln::gen
