// SPDX-License-Identifier: Apache-2.0
// A table of baked kernels: what is in it, and the SPIR-V of each variant.
//
// Ownership: a KernelTable is a cheap handle to shared state. Threads: every function may be called
// from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirkiln/export.h"
#include "spirkiln/result.hpp"

namespace spirkiln {

class SPIRKILN_API KernelTable {
 public:
  // A NAME_table.bin. Errors: kIo; kCorrupt naming what is wrong.
  static Result<KernelTable> open(const std::string& path);
  // What `spirkiln::tables::NAME::table()` of the generated NAME_table.hpp gives: it must outlive
  // every copy of this, and be aligned to 8 bytes. `name` is what messages call it. Errors:
  // kCorrupt.
  static Result<KernelTable> from_memory(std::span<const unsigned char> bytes, std::string name);

  // Sorted. All texts live as long as a copy of this table.
  std::vector<std::string_view> kernels() const;
  // Best first; none where the table has no such kernel.
  std::vector<std::string_view> variants(std::string_view kernel) const;
  // The module of a variant ("scale_fp16s"), valid as long as a copy of this table lives. Errors:
  // kNoVariant where there is none of that name; kCorrupt.
  Result<std::span<const std::uint32_t>> words(std::string_view variant) const;

  struct SPIRKILN_HIDDEN State;
  const std::shared_ptr<const State>& state() const { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace spirkiln
