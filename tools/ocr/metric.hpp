// SPDX-License-Identifier: Apache-2.0
// How right the text of a page is.
//
// Texts are compared as NFKC with white space removed. What was read is paired with what stands
// there: equal texts first, then the pairs that differ least. The characters in error are
// - for a pair, its edit distance (insertions, deletions and replacements of code points),
// - for a line that nothing is left for, all of its characters (missed),
// - for a text that no line is left for, all of its characters (extra).
// CER is their sum over the number of characters that stand there.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln::metric {

struct TextLine {
  std::string text;                        // UTF-8
  std::optional<std::uint32_t> rotation;   // of the reading direction: 0, 90, 180, 270
};

struct Score {
  std::size_t pictures = 0, exact_pictures = 0;  // exact: all lines, and nothing besides
  std::size_t lines = 0, exact_lines = 0;
  std::size_t oriented_lines = 0, right_orientation = 0;  // lines whose rotation is known
  std::size_t characters = 0;
  std::size_t wrong = 0, missed = 0, extra = 0;  // characters in error, as above

  double cer() const;  // 0 for nothing against nothing, infinite for something against nothing
  Score& operator+=(const Score& other);
};

// NFKC without white space, as code points. Bytes that are not UTF-8 become U+FFFD.
std::u32string normalised(const std::string& text);

std::size_t edit_distance(const std::u32string& a, const std::u32string& b);

Score score_page(const std::vector<TextLine>& expected, const std::vector<TextLine>& read);

}  // namespace spirkiln::metric
