// SPDX-License-Identifier: Apache-2.0
// Stages 12 and 13: equal blobs once, coded together, in compressed frames, as a table.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "blob.hpp"
#include "cache.hpp"
#include "expand.hpp"

namespace spirkiln::gen {

// Bytes by the name of the attachment that they are, or are part of.
using Attachments = std::map<std::string, std::string>;

struct PackKernel {
  std::string name;
  std::uint32_t source_hash = 0;
  // The specialization constants that the manifest names, with their ids; sorted by name.
  std::vector<std::pair<std::string, std::uint32_t>> constants;
  std::vector<Variant> variants;                   // best first
  std::vector<std::shared_ptr<const Blob>> blobs;  // one a variant; equal ones may be shared
  // What the kernel adds to attachments of its table: one attachment is the parts of all kernels,
  // one behind the other in the table's order. So whoever reads it can tell where a part ends and
  // which kernel it is of by the bytes alone, and linking objects needs no rule of its own.
  Attachments parts = {};
};

struct PackStats {
  std::size_t unique_blobs = 0;
  std::uint64_t raw_bytes = 0;  // all variants' words
  std::uint64_t unique_bytes = 0;  // without duplicates
  std::uint64_t packed_bytes = 0;  // of the table, padding excluded
};

struct PackedTable {
  std::string bytes;
  PackStats stats;
  // For each kernel (sorted by name) and variant: the name of the variant that its blob was first
  // stored for, or empty where that is itself.
  std::vector<std::vector<std::string>> merged_into;
};

// `kernels` must be sorted by name; `attachments` are the table's as a whole. The bytes depend on
// the arguments only, not on `threads` or the cache. Errors: more than a table may hold, and an
// attachment that kernels have parts of as well.
Result<PackedTable> pack_table(const std::string& name, const std::string& tool_version,
                               const std::vector<PackKernel>& kernels, unsigned threads,
                               const Cache& cache, const Attachments& attachments = {});

}  // namespace spirkiln::gen
