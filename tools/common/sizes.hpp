// SPDX-License-Identifier: Apache-2.0
// Sizes on a command line.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace spirkiln::tool {

// "1x48x320": N whole numbers of 1 to `most`, of digits alone (no sign, no space), with an x
// between them. Nothing for anything else.
template <std::size_t N>
std::optional<std::array<std::uint32_t, N>> parse_sizes(std::string_view text,
                                                        std::uint32_t most = 999'999'999) {
  std::array<std::uint32_t, N> sizes{};
  for (std::size_t i = 0; i < N; ++i) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sizes[i]);
    if (error != std::errc() || sizes[i] == 0 || sizes[i] > most) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (i + 1 == N) break;
    if (!text.starts_with('x')) return std::nullopt;
    text.remove_prefix(1);
  }
  if (!text.empty()) return std::nullopt;
  return sizes;
}

}  // namespace spirkiln::tool
