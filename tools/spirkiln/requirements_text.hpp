// SPDX-License-Identifier: Apache-2.0
// What a variant needs and offers, as one line that stays the same for the same things: for locks
// and comparisons.
#pragma once

#include <string>

#include "table/table.hpp"

namespace spirkiln::gen {

// "vulkan 1.0 spirv 1.0 local id233,id234,1 push 44 shared 336 bindings 0.0=storage-buffer:r
//  constants 0=w:int needs StorageBuffer16BitAccess extensions SPV_KHR_16bit_storage", in one line.
std::string requirements_text(const Table& table, const table::BlobEntry& blob);

}  // namespace spirkiln::gen
