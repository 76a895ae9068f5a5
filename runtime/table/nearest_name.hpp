// SPDX-License-Identifier: Apache-2.0
// The known name that somebody may have meant, for messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace spirkiln {

// Insertions, deletions and changes of one letter that turn `a` into `b`. Case counts half.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t kEdit = 2;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j * kEdit;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i * kEdit;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1]                 ? 0
                                 : lower(a[i - 1]) == lower(b[j - 1]) ? 1
                                                                      : kEdit;
      const std::size_t here = std::min({row[j] + kEdit, row[j - 1] + kEdit, diagonal + change});
      diagonal = row[j];
      row[j] = here;
    }
  }
  return row[b.size()];
}

// The first of the nearest; empty where `known` is.
template <typename Names>
std::string_view nearest_name(std::string_view name, const Names& known) {
  std::string_view best;
  std::size_t fewest = ~std::size_t{0};
  name = name.substr(0, 256);  // the distance takes time in both lengths
  for (const std::string_view candidate : known) {
    const std::size_t d = edit_distance(name, candidate);
    if (d >= fewest) continue;
    fewest = d;
    best = candidate;
  }
  return best;
}

}  // namespace spirkiln
