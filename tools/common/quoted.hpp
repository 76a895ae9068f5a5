// SPDX-License-Identifier: Apache-2.0
// Strings in files that machines read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spirkiln::tool {

// With quotation marks, as both JSON and TOML take it. Bytes that are not UTF-8 become U+FFFD, so
// that the text around it stays valid.
std::string quoted(std::string_view text);

// Bytes of the well-formed UTF-8 sequence that a text begins with, 0 where it begins with none. The
// text is not empty.
std::size_t utf8_length(std::string_view text);

}  // namespace spirkiln::tool
