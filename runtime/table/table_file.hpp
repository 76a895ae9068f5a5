// SPDX-License-Identifier: Apache-2.0
// A table's index, read and checked: every offset, count and number in it is in range afterwards.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "spirkiln/result.hpp"
#include "spirkiln/table_format.hpp"

namespace spirkiln {

struct TableFile {
  // All views point into `index` or `bytes`.
  std::span<const std::byte> bytes;
  std::vector<std::byte> index;
  table::TableHeader header{};
  std::uint32_t name = 0, tool_version = 0;  // strings
  std::span<const char> strings;
  std::span<const table::KernelEntry> kernels;
  std::span<const table::VariantEntry> variants;
  std::span<const table::AxisValue> axis_values;
  std::span<const table::BlobEntry> blobs;
  std::span<const table::FrameEntry> frames;
  std::span<const std::uint32_t> capabilities;
  std::span<const std::uint32_t> extensions;
  std::span<const table::BindingEntry> bindings;
  std::span<const table::SpecEntry> specs;
  std::span<const table::AttachmentEntry> attachments;
};

// `bytes` stay the caller's and must outlive the result. Errors: kCorrupt, which name `origin` and
// the field.
Result<TableFile> read_table(std::span<const std::byte> bytes, const std::string& origin);

// What can be said of a table of `size` bytes that begins with `head`, before the rest is read.
Status check_table_head(std::span<const std::byte> head, std::uint64_t size,
                        const std::string& origin);

// One frame unpacked. Errors: kCorrupt, without the table's name.
Result<std::vector<std::byte>> unpack_frame(std::span<const std::byte> table,
                                            const table::FrameEntry& frame);

Error corrupt_table(const std::string& origin, const std::string& what);

}  // namespace spirkiln
