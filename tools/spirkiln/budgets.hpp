// SPDX-License-Identifier: Apache-2.0
// The budgets of manifests, held against a table.
#pragma once

#include <string>
#include <vector>

#include "manifest.hpp"
#include "table/table.hpp"

namespace spirkiln::gen {

// What takes more packed bytes than its budget, as lines of errors with the budget's place, each
// with what takes most of it below; empty where all is well. Kernels that the table lacks (no
// variant of them could be compiled) take none.
std::string over_budget(const Table& table, const std::vector<Manifest>& manifests);

// A kernel with a budget that is not in the table, which then is of other manifests; as an error at
// the budget's place. Empty where there is none.
std::string missing_from(const Table& table, const std::vector<Manifest>& manifests);

}  // namespace spirkiln::gen
