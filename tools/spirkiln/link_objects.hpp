// SPDX-License-Identifier: Apache-2.0
// The second phase as a process of its own.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "phases.hpp"
#include "spirkiln/result.hpp"
#include "table_outputs.hpp"

namespace spirkiln::gen {

struct LinkOptions : TableTarget {
  std::vector<std::filesystem::path> objects;  // in any order
  std::optional<std::filesystem::path> cache;  // nothing: no cache
  unsigned jobs = 0;                           // 0: one a processor
};

// Writes what bake() writes of the same manifests, but for the depfile and the stamp; all or, after
// an error, none. The order of the objects does not matter. Errors: an object that does not check,
// that another version made, or that brings a kernel which another one has as well.
Result<BakeStats> link_objects(const LinkOptions& options);

}  // namespace spirkiln::gen
