// SPDX-License-Identifier: Apache-2.0
// Strings in files that machines read.
#pragma once

#include <string>
#include <string_view>

namespace spirkiln::tool {

// With quotation marks, as both JSON and TOML take it. Bytes that are not UTF-8 become U+FFFD, so
// that the text around it stays valid.
std::string quoted(std::string_view text);

}  // namespace spirkiln::tool
