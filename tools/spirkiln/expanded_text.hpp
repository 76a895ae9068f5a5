// SPDX-License-Identifier: Apache-2.0
// Where a place in a preprocessed text comes from, by its #line directives.
#pragma once

#include <string>
#include <string_view>

namespace spirkiln::gen {

struct Place {
  std::string file;
  unsigned line = 0;  // 0: unknown
};

// `name` is the file before the first directive that names one.
Place place_of(std::string_view expanded, std::size_t offset, const std::string& name);

// A file's name as #line and the compiler's messages can hold it: what would end or change a string
// (quotes, backslashes, control characters), '%' and ':' are written as '%' and two digits.
std::string line_name(const std::string& file);
// The file's name again.
std::string from_line_name(std::string_view name);

// The text with every #line directive of its own turned into blanks, and every line end in its
// place: positions in messages are always those of the file itself.
std::string without_line_directives(const std::string& text);

}  // namespace spirkiln::gen
