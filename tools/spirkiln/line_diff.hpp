// SPDX-License-Identifier: Apache-2.0
// Two texts compared line by line.
#pragma once

#include <string>
#include <string_view>

namespace spirkiln::gen {

// What `diff -U3` prints behind its two heading lines: hunks of " ", "-" and "+" lines. Empty where
// the texts are equal. Shortest, by E. Myers, "An O(ND) Difference Algorithm and Its Variations"
// (1986); texts that differ in more than 5,000 lines are given as one that goes and one that comes.
std::string line_diff(std::string_view before, std::string_view after);

// The same for two disassemblies, where lines that differ in the numbers of ids alone count as
// equal: one more instruction renumbers all behind it (such lines are given as `after` has them).
// Texts that differ in nothing else are compared exactly.
std::string disassembly_diff(const std::string& before, const std::string& after);

}  // namespace spirkiln::gen
