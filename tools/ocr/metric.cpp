// SPDX-License-Identifier: Apache-2.0
#include "metric.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <tuple>

namespace spirkiln::metric {
namespace {

struct Line {
  std::u32string text;
  std::optional<std::uint32_t> rotation;
  bool taken = false;
};

std::vector<Line> prepared(const std::vector<TextLine>& lines) {
  std::vector<Line> out;
  for (const TextLine& line : lines) {
    Line one{normalised(line.text), line.rotation};
    if (!one.text.empty()) out.push_back(std::move(one));
  }
  return out;
}

bool is_space(utf8proc_int32_t code) {
  const utf8proc_category_t category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP || (code >= 9 && code <= 13) || code == 0x85;
}

void pair_up(Line& expected, Line& read, Score& score) {
  expected.taken = read.taken = true;
  if (expected.rotation && read.rotation && *expected.rotation == *read.rotation) {
    ++score.right_orientation;
  }
}

}  // namespace

std::u32string normalised(const std::string& text) {
  std::u32string decoded;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  utf8proc_ssize_t left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    utf8proc_int32_t code = 0;
    utf8proc_ssize_t used = utf8proc_iterate(bytes, left, &code);
    if (used <= 0) code = 0xfffd, used = 1;
    decoded += static_cast<char32_t>(code);
    bytes += used, left -= used;
  }
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_COMPOSE);
  std::vector<utf8proc_int32_t> codes;
  for (const char32_t c : decoded) {
    utf8proc_int32_t one[32];
    int boundary = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), one, 32, options, &boundary);
    for (utf8proc_ssize_t i = 0; i < count && i < 32; ++i) codes.push_back(one[i]);
  }
  // Canonical order of combining marks, then composition: what is left of NFKC.
  for (std::size_t i = 1; i < codes.size(); ++i) {
    for (std::size_t k = i; k > 0; --k) {
      const auto here = utf8proc_get_property(codes[k])->combining_class;
      const auto before = utf8proc_get_property(codes[k - 1])->combining_class;
      if (here == 0 || before <= here) break;
      std::swap(codes[k], codes[k - 1]);
    }
  }
  const utf8proc_ssize_t size =
      utf8proc_normalize_utf32(codes.data(), static_cast<utf8proc_ssize_t>(codes.size()), options);
  std::u32string out;
  for (utf8proc_ssize_t i = 0; i < size; ++i) {
    if (!is_space(codes[i])) out += static_cast<char32_t>(codes[i]);
  }
  return out;
}

std::size_t edit_distance(const std::u32string& a, const std::u32string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t replaced = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({replaced, diagonal + 1, row[k] + 1});
    }
  }
  return row[b.size()];
}

double Score::cer() const {
  const std::size_t errors = wrong + missed + extra;
  if (errors == 0) return 0;
  if (characters == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(errors) / static_cast<double>(characters);
}

Score& Score::operator+=(const Score& o) {
  pictures += o.pictures, exact_pictures += o.exact_pictures;
  lines += o.lines, exact_lines += o.exact_lines;
  oriented_lines += o.oriented_lines, right_orientation += o.right_orientation;
  characters += o.characters;
  wrong += o.wrong, missed += o.missed, extra += o.extra;
  return *this;
}

Score score_page(const std::vector<TextLine>& expected_lines,
                 const std::vector<TextLine>& read_lines) {
  std::vector<Line> expected = prepared(expected_lines);
  std::vector<Line> read = prepared(read_lines);
  Score score;
  score.pictures = 1;
  score.lines = expected.size();
  for (const Line& line : expected) {
    score.characters += line.text.size();
    if (line.rotation) ++score.oriented_lines;
  }

  // Equal texts. Where several are equal, one of the same rotation is the right partner.
  for (const bool same_rotation : {true, false}) {
    for (Line& line : expected) {
      if (line.taken) continue;
      const auto partner = std::find_if(read.begin(), read.end(), [&](const Line& r) {
        return !r.taken && r.text == line.text && (!same_rotation || r.rotation == line.rotation);
      });
      if (partner == read.end()) continue;
      pair_up(line, *partner, score);
      ++score.exact_lines;
    }
  }

  // The rest, least share of errors first.
  std::vector<std::tuple<double, std::size_t, std::size_t, std::size_t>> pairs;
  for (std::size_t e = 0; e < expected.size(); ++e) {
    if (expected[e].taken) continue;
    for (std::size_t r = 0; r < read.size(); ++r) {
      if (read[r].taken) continue;
      const std::size_t longer = std::max(expected[e].text.size(), read[r].text.size());
      const std::size_t distance = edit_distance(expected[e].text, read[r].text);
      if (distance == longer) continue;  // nothing in common: missed and extra, not wrong
      pairs.emplace_back(static_cast<double>(distance) / static_cast<double>(longer), e, r,
                         distance);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  for (const auto& [share, e, r, distance] : pairs) {
    if (expected[e].taken || read[r].taken) continue;
    pair_up(expected[e], read[r], score);
    score.wrong += distance;
  }

  for (const Line& line : expected) {
    if (!line.taken) score.missed += line.text.size();
  }
  for (const Line& line : read) {
    if (!line.taken) score.extra += line.text.size();
  }
  score.exact_pictures = score.exact_lines == score.lines && score.extra == 0 ? 1 : 0;
  return score;
}

}  // namespace spirkiln::metric
