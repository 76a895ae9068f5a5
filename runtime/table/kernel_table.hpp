// SPDX-License-Identifier: Apache-2.0
// What a KernelTable points to.
#pragma once

#include "spirkiln/kernel_table.hpp"
#include "table/table.hpp"

namespace spirkiln {

struct KernelTable::State {
  Table table;
};

}  // namespace spirkiln
