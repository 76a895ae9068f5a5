// SPDX-License-Identifier: Apache-2.0
// A table's lock: a text, one line a variant, that is committed beside the manifests, so that a
// review sees what an edit or another compiler changes in what devices need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spirkiln/result.hpp"
#include "table/table.hpp"

namespace spirkiln::gen {

std::string lock_text(const Table& table);

struct LockCheck {
  // What makes the lock stale: variants that came or went, other requirements; under the lock's own
  // versions of the compilers also another size or hash.
  std::vector<std::string> stale;
  // What other versions of the compilers may change: sizes, hashes, and the versions themselves.
  std::vector<std::string> notes;
};

// Errors: kCorrupt naming the line of `lock` that is no lock's.
Result<LockCheck> check_lock(const Table& table, std::string_view lock);

}  // namespace spirkiln::gen
