// SPDX-License-Identifier: Apache-2.0
#include "line_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace spirkiln::gen {
namespace {

constexpr int kMaxEdits = 5000;
constexpr std::size_t kContext = 3;

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

struct Edit {
  char kind;  // ' ', '-', '+'
  std::size_t before, after;  // the line's index in each text, or where it would stand
};

std::vector<Edit> replace_all(const Lines& a, const Lines& b) {
  std::vector<Edit> edits;
  for (std::size_t i = 0; i < a.size(); ++i) edits.push_back({'-', i, 0});
  for (std::size_t j = 0; j < b.size(); ++j) edits.push_back({'+', a.size(), j});
  return edits;
}

// `a` and `b` as they are compared.
std::vector<Edit> edits_of(const Lines& a, const Lines& b) {
  const int n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
  const int limit = std::min(n + m, kMaxEdits);
  // furthest[k]: the furthest line of `a` that a path on diagonal k reaches; kept for each number
  // of edits, to walk back.
  std::vector<int> furthest(2 * static_cast<std::size_t>(limit) + 3, 0);
  const auto at = [&](std::vector<int>& v, int k) -> int& {
    return v[static_cast<std::size_t>(k + limit + 1)];
  };
  const auto equal = [&](int x, int y) {
    return a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(y)];
  };
  std::vector<std::vector<int>> trace;
  for (int d = 0; d <= limit; ++d) {
    trace.push_back(furthest);
    for (int k = -d; k <= d; k += 2) {
      const bool down = k == -d || (k != d && at(furthest, k - 1) < at(furthest, k + 1));
      int x = down ? at(furthest, k + 1) : at(furthest, k - 1) + 1;
      int y = x - k;
      while (x < n && y < m && equal(x, y)) ++x, ++y;
      at(furthest, k) = x;
      if (x < n || y < m) continue;
      std::vector<Edit> edits;
      for (int step = d; step >= 0; --step) {
        std::vector<int>& v = trace[static_cast<std::size_t>(step)];
        const int diagonal = x - y;
        const bool came_down =
            diagonal == -step || (diagonal != step && at(v, diagonal - 1) < at(v, diagonal + 1));
        const int before_k = came_down ? diagonal + 1 : diagonal - 1;
        const int before_x = step == 0 ? 0 : at(v, before_k);
        const int before_y = step == 0 ? 0 : before_x - before_k;
        while (x > before_x && y > before_y) {
          --x, --y;
          edits.push_back({' ', static_cast<std::size_t>(x), static_cast<std::size_t>(y)});
        }
        if (step == 0) break;
        x = before_x;
        y = before_y;
        edits.push_back(
            {came_down ? '+' : '-', static_cast<std::size_t>(x), static_cast<std::size_t>(y)});
      }
      std::reverse(edits.begin(), edits.end());
      return edits;
    }
  }
  return replace_all(a, b);
}

// `a` and `b` as they are printed.
std::string hunks(const std::vector<Edit>& edits, const Lines& a, const Lines& b) {
  std::string out;
  for (std::size_t i = 0; i < edits.size();) {
    if (edits[i].kind == ' ') {
      ++i;
      continue;
    }
    const std::size_t begin = i >= kContext ? i - kContext : 0;
    // To the last change that has no more than two contexts of equal lines before the next.
    std::size_t last = i;
    for (std::size_t j = i; j < edits.size() && j - last <= 2 * kContext; ++j) {
      if (edits[j].kind != ' ') last = j;
    }
    const std::size_t end = std::min(last + kContext + 1, edits.size());
    std::size_t removed = 0, added = 0;
    std::string body;
    for (std::size_t j = begin; j < end; ++j) {
      removed += edits[j].kind != '+' ? 1 : 0;
      added += edits[j].kind != '-' ? 1 : 0;
      body += edits[j].kind;
      body += edits[j].kind == '-' ? a[edits[j].before] : b[edits[j].after];
      body += '\n';
    }
    out += fmt::format("@@ -{},{} +{},{} @@\n{}", edits[begin].before + (removed > 0 ? 1 : 0),
                       removed, edits[begin].after + (added > 0 ? 1 : 0), added, body);
    i = end;
  }
  return out;
}

// "%12 = OpFAdd %float %10 %11" as "%=OpFAdd %float % %": without the numbers, and without the
// spaces that align them.
std::string without_ids(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ' && (out.empty() || out.back() == '\n' || out.back() == ' ')) continue;
    out += text[i];
    if (text[i] != '%') continue;
    std::size_t end = i + 1;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    const bool is_number = end == text.size() || text[end] == ' ' || text[end] == '\n';
    if (is_number) i = end - 1;
  }
  return out;
}

}  // namespace

std::string line_diff(std::string_view before, std::string_view after) {
  if (before == after) return {};
  const Lines a = lines_of(before), b = lines_of(after);
  return hunks(edits_of(a, b), a, b);
}

std::string disassembly_diff(const std::string& before, const std::string& after) {
  const std::string a = without_ids(before), b = without_ids(after);
  if (a == b) return line_diff(before, after);
  return hunks(edits_of(lines_of(a), lines_of(b)), lines_of(before), lines_of(after));
}

}  // namespace spirkiln::gen
