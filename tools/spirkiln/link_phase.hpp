// SPDX-License-Identifier: Apache-2.0
// The second phase: compiled kernels in, a table out.
#pragma once

#include <string>
#include <vector>

#include "pack.hpp"
#include "phases.hpp"
#include "table/table.hpp"

namespace spirkiln::gen {

struct LinkedTable {
  std::vector<PackKernel> kernels;  // sorted by name, those without a variant left out
  PackedTable table;
};

// An error where a table cannot have that name.
Status check_table_name(const std::string& name);

// `kernels` in any order, each name once; `attachments` of the table as a whole. Errors: two
// variants of one name, no variant at all.
Result<LinkedTable> link_kernels(const std::string& name, std::vector<PackKernel> kernels,
                                 unsigned threads, const Cache& cache,
                                 const Attachments& attachments = {});

// As a reader has it.
Result<Table> table_of(const PackedTable& table);

// The sizes of a table.
void count(const PackedTable& table, BakeStats& stats);

}  // namespace spirkiln::gen
