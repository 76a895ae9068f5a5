// SPDX-License-Identifier: Apache-2.0
// What changed from one table to another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spirkiln/result.hpp"
#include "table/table.hpp"

namespace spirkiln::gen {

struct VariantChange {
  std::string variant;
  std::uint64_t bytes_before = 0, bytes_after = 0;  // 0 where it was or is not there
  std::string needs_before, needs_after;            // requirements_text(); empty likewise
  bool module_changed = false;                      // other words
  std::string disassembly;  // disassembly_diff() of it, where it was asked for
};

struct TableDiff {
  std::string tool_before, tool_after;
  std::uint64_t file_before = 0, file_after = 0;
  std::size_t unchanged = 0;
  std::vector<VariantChange> added, removed, changed;  // by name

  bool empty() const { return added.empty() && removed.empty() && changed.empty(); }
};

// Errors: kCorrupt, or the disassembler's.
Result<TableDiff> diff_tables(const Table& before, const Table& after, bool disassemblies);

std::string diff_text(const TableDiff& diff);
std::string diff_json(const TableDiff& diff);

}  // namespace spirkiln::gen
