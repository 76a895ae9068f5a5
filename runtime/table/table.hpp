// SPDX-License-Identifier: Apache-2.0
// A kernel table: its index is checked once when it is opened, modules are decoded on first use.
//
// A table may come from anywhere, so everything that later code indexes with is checked here; what
// a Table hands out is in range.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirkiln/result.hpp"
#include "spirkiln/table_format.hpp"

namespace spirkiln {

class Table {
 public:
  // Errors of all: kCorrupt naming the field (or kIo). `origin` is what messages call the table.
  static Result<Table> from_file(const std::string& path);
  static Result<Table> from_bytes(std::vector<std::byte> bytes, std::string origin);
  // `bytes` must stay alive.
  static Result<Table> from_static(std::span<const std::byte> bytes, std::string origin);
  // The kernels that this library was built with; the same table in every call.
  static Result<Table> built_in();

  std::string_view name() const;
  std::string_view tool_version() const;
  const std::string& origin() const;

  std::span<const table::KernelEntry> kernels() const;
  std::span<const table::VariantEntry> variants() const;
  std::span<const table::BlobEntry> blobs() const;
  std::span<const table::FrameEntry> frames() const;
  const table::TableHeader& header() const;
  std::span<const table::AttachmentEntry> attachments() const;
  // Null when the table has no such kernel.
  const table::KernelEntry* find(std::string_view kernel) const;
  // By its full name ("gemm_nc_fp16s"); null when there is none.
  const table::VariantEntry* find_variant(std::string_view name) const;

  std::string_view string(std::uint32_t offset) const;
  std::span<const table::VariantEntry> variants_of(const table::KernelEntry& kernel) const;
  std::span<const table::AxisValue> axis_values_of(const table::VariantEntry& variant) const;
  std::span<const std::uint32_t> capabilities_of(const table::BlobEntry& blob) const;
  std::span<const std::uint32_t> extensions_of(const table::BlobEntry& blob) const;  // strings
  std::span<const table::BindingEntry> bindings_of(const table::BlobEntry& blob) const;
  std::span<const table::SpecEntry> specs_of(const table::BlobEntry& blob) const;

  // The module's words; valid as long as a copy of this table lives. Thread-safe. Errors: kCorrupt.
  Result<std::span<const std::uint32_t>> words(std::uint32_t blob) const;
  // The bytes attached under that name, which lie aligned to 8 bytes and are valid as the words
  // are; none where the table has no such attachment. Unpacked at the first call. Thread-safe.
  // Errors: kCorrupt.
  Result<std::span<const std::byte>> attachment(std::string_view name) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The table in the file `path`, the one in $SPIRKILN_TABLE when `path` is empty, or the built-in
// one when both are.
Result<Table> open_table(const std::string& path = {});

}  // namespace spirkiln
