// SPDX-License-Identifier: Apache-2.0
// The whole way from manifests to outputs: both phases in one process.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "explain.hpp"
#include "phases.hpp"
#include "spirkiln/result.hpp"
#include "table_outputs.hpp"

namespace spirkiln::gen {

struct BakeOptions : SourceOptions, TableTarget {
  std::optional<std::filesystem::path> depfile;
  bool explain = false;  // say what was kept, pruned and merged, as kInfo messages
};

// Writes NAME_table.bin, .hpp and, by `embed`, .S or .cpp, and the depfile; all or, after an
// error, none. Unchanged files keep their times. Messages about sources go to `message`, once for
// all variants that share them; the Error then only counts them.
Result<BakeStats> bake(const BakeOptions& options, const MessageCallback& message);

// What becomes of every point of the manifests' products. Compiles, through the cache, and writes
// no outputs.
Result<std::vector<ExplainedKernel>> explain(const SourceOptions& options,
                                             const MessageCallback& message);

}  // namespace spirkiln::gen
