// SPDX-License-Identifier: Apache-2.0
// The metric against cases counted by hand.
#include "metric.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

using namespace spirkiln::metric;

namespace {

Score score(std::vector<TextLine> expected, std::vector<TextLine> read) {
  return score_page(expected, read);
}

}  // namespace

TEST_CASE("texts are compared as NFKC without white space") {
  CHECK(normalised("Ａ１：（）") == U"A1:()");
  CHECK(normalised("a b\tc\n d\u3000e\u00a0f") == U"abcdef");
  CHECK(normalised("30\u2103") == U"30\u00b0C");       // one sign becomes two
  CHECK(normalised("e\u0301") == U"\u00e9");           // composed
  CHECK(normalised("q\u0323\u0307") == normalised("q\u0307\u0323"));  // marks in canonical order
  CHECK(normalised("\ufb01") == U"fi");                // a ligature
  CHECK(normalised("\uff76\uff9e") == U"\u30ac");      // half-width katakana and its mark
  CHECK(normalised("\u1112\u1161\u11ab") == U"\ud55c");  // jamo become a syllable
  CHECK(normalised("中国") == U"中国");
  CHECK(normalised("").empty());
  CHECK(normalised("a\xff"
                   "b") ==
        U"a\ufffd"
        U"b");   // not UTF-8
}

TEST_CASE("edit distance") {
  CHECK(edit_distance(U"", U"") == 0);
  CHECK(edit_distance(U"abc", U"") == 3);
  CHECK(edit_distance(U"", U"abc") == 3);
  CHECK(edit_distance(U"kitten", U"sitting") == 3);
  CHECK(edit_distance(U"中国人", U"中人") == 1);
}

TEST_CASE("all right") {
  const Score s = score({{"中 国", {}}, {"ABC", {}}}, {{"ＡＢＣ", {}}, {"中国", {}}});
  CHECK(s.exact_lines == 2);
  CHECK(s.lines == 2);
  CHECK(s.exact_pictures == 1);
  CHECK(s.characters == 5);
  CHECK(s.cer() == 0.0);
}

TEST_CASE("equal lines count once each") {
  const Score s = score({{"5", {}}, {"5", {}}}, {{"5", {}}});
  CHECK(s.exact_lines == 1);
  CHECK(s.missed == 1);
  CHECK(s.cer() == 0.5);
  CHECK(s.exact_pictures == 0);
  const Score more = score({{"5", {}}}, {{"5", {}}, {"5", {}}});
  CHECK(more.exact_lines == 1);
  CHECK(more.extra == 1);
  CHECK(more.exact_pictures == 0);
}

TEST_CASE("wrong, missed and extra characters are charged") {
  // "hello" with one wrong letter; "world" is missed (nothing left has a letter of it); "!!" is
  // extra.
  const Score s = score({{"hello", {}}, {"world", {}}}, {{"hallo", {}}, {"!!", {}}});
  CHECK(s.exact_lines == 0);
  CHECK(s.wrong == 1);
  CHECK(s.missed == 5);
  CHECK(s.extra == 2);
  CHECK(std::fabs(s.cer() - 0.8) < 1e-12);
}

TEST_CASE("the pair that differs least is made first") {
  // "abcd" goes to "abcx" (1 of 4), not to "abxx"; the other pair then costs 2.
  const Score s = score({{"abcd", {}}}, {{"abxx", {}}, {"abcx", {}}});
  CHECK(s.wrong == 1);
  CHECK(s.extra == 4);
}

TEST_CASE("a line in two parts costs the part that is left over twice") {
  const Score s = score({{"abcdef", {}}}, {{"abcd", {}}, {"ef", {}}});
  CHECK(s.wrong == 2);
  CHECK(s.extra == 2);
  CHECK(s.missed == 0);
}

TEST_CASE("an empty picture") {
  CHECK(score({}, {}).exact_pictures == 1);
  CHECK(score({}, {}).cer() == 0.0);
  const Score s = score({}, {{"noise", {}}});
  CHECK(s.extra == 5);
  CHECK(std::isinf(s.cer()));
  CHECK(score({}, {{"  ", {}}}).exact_pictures == 1);  // white space is nothing
}

TEST_CASE("orientation is that of the partner") {
  const Score s =
      score({{"a", 0}, {"b", 90}, {"c", 180}, {"d", {}}}, {{"a", 0}, {"b", 270}, {"d", 0}});
  CHECK(s.oriented_lines == 3);
  CHECK(s.right_orientation == 1);
  // Of two equal texts, each goes to the one that is turned as it is.
  const Score twins = score({{"x", 0}, {"x", 180}}, {{"x", 180}, {"x", 0}});
  CHECK(twins.right_orientation == 2);
}

TEST_CASE("scores add up") {
  Score total = score({{"ab", {}}}, {{"ab", {}}});
  total += score({{"cd", {}}}, {{"ce", {}}});
  CHECK(total.pictures == 2);
  CHECK(total.exact_pictures == 1);
  CHECK(total.lines == 2);
  CHECK(total.exact_lines == 1);
  CHECK(total.cer() == 0.25);
}
