// SPDX-License-Identifier: Apache-2.0
#include "line_diff.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <random>
#include <sstream>
#include <vector>

#include "workspace.hpp"

using namespace spirkiln;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// `before` with the hunks applied, each checked against the lines that it says are there.
std::vector<std::string> applied(const std::vector<std::string>& before, const std::string& hunks) {
  std::vector<std::string> out;
  std::size_t at = 0;
  for (const std::string& line : lines_of(hunks)) {
    if (line.starts_with("@@")) {
      std::size_t first = 0, count = 0;
      REQUIRE(std::sscanf(line.c_str(), "@@ -%zu,%zu ", &first, &count) == 2);
      const std::size_t begin = count > 0 ? first - 1 : first;
      REQUIRE(begin >= at);
      for (; at < begin; ++at) out.push_back(before.at(at));
    } else if (line[0] == '+') {
      out.push_back(line.substr(1));
    } else {
      REQUIRE(before.at(at) == line.substr(1));
      if (line[0] == ' ') out.push_back(line.substr(1));
      ++at;
    }
  }
  for (; at < before.size(); ++at) out.push_back(before[at]);
  return out;
}

std::size_t edits_in(const std::string& hunks) {
  const auto lines = lines_of(hunks);
  return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [](const auto& line) {
    return line.starts_with('+') || line.starts_with('-');
  }));
}

}  // namespace

TEST_CASE("line diff: hunks as diff -U3 writes them", "[diff]") {
  CHECK(gen::line_diff("a\nb\n", "a\nb\n").empty());
  CHECK(gen::line_diff("a\nb\nc\n", "a\nB\nc\n") == "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
  CHECK(gen::line_diff("", "a\n") == "@@ -0,0 +1,1 @@\n+a\n");
  CHECK(gen::line_diff("a\n", "") == "@@ -1,1 +0,0 @@\n-a\n");
  // Changes with more than six equal lines between them are hunks of their own.
  CHECK(gen::line_diff("x\n1\n2\n3\n4\n5\n6\n7\ny\n", "X\n1\n2\n3\n4\n5\n6\n7\nY\n") ==
        "@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-y\n+Y\n");
}

TEST_CASE("line diff: ids that were renumbered are no change", "[diff]") {
  const std::string before =
      "       %float = OpTypeFloat 32\n         %9 = OpLoad %float %8\n"
      "         %10 = OpFMul %float %9 %9\n               OpStore %8 %10\n";
  const std::string more =
      "       %float = OpTypeFloat 32\n          %9 = OpLoad %float %8\n"
      "         %10 = OpFAdd %float %9 %9\n         %11 = OpFMul %float %10 %10\n"
      "               OpStore %8 %11\n";
  CHECK(gen::disassembly_diff(before, before).empty());
  CHECK(gen::disassembly_diff(before, more) ==
        "@@ -1,4 +1,5 @@\n        %float = OpTypeFloat 32\n           %9 = OpLoad %float %8\n"
        "+         %10 = OpFAdd %float %9 %9\n          %11 = OpFMul %float %10 %10\n"
        "                OpStore %8 %11\n");
  // Where ids are all that differs, they are shown.
  std::string other = before;
  other.replace(other.rfind("%10"), 3, "%9");
  CHECK_FALSE(gen::disassembly_diff(before, other).empty());
}

TEST_CASE("line diff: applied it gives the second text, with as few edits as diff finds",
          "[diff]") {
  const test::Workspace w;
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    std::string texts[2];
    for (std::string& text : texts) {
      const unsigned count = random() % 60;
      for (unsigned i = 0; i < count; ++i) text += std::string(1, char('a' + random() % 5)) + '\n';
    }
    const std::string hunks = gen::line_diff(texts[0], texts[1]);
    CHECK(applied(lines_of(texts[0]), hunks) == lines_of(texts[1]));
    w.write("a", texts[0]);
    w.write("b", texts[1]);
    const std::string command = "diff --minimal -U3 '" + (w / "a").string() + "' '" +
                                (w / "b").string() + "' | tail -n +3 >'" + (w / "out").string() +
                                "'";
    REQUIRE(std::system(command.c_str()) == 0);
    CHECK(edits_in(hunks) == edits_in(w.read("out")));
  }
}
