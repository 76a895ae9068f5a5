// SPDX-License-Identifier: Apache-2.0
// A text compiled in one variant, without a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spirkiln::test {

struct Compiled {
  bool ok = false;
  std::vector<std::uint32_t> words;
  std::string said;
};

using Defines = std::vector<std::pair<std::string, std::string>>;

// The text is called k.comp in messages.
Compiled compile_text(std::string_view text, std::string_view profile, std::string_view form,
                      Defines defines = {}, bool strict = false);

std::size_t count_ops(const std::vector<std::uint32_t>& words, std::uint32_t op);
bool has_capability(const std::vector<std::uint32_t>& words, std::uint32_t capability);

}  // namespace spirkiln::test
