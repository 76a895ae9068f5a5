// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a table are: by kernel, by value of an axis, duplicates, and what could be a
// specialization constant instead of an axis.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "spirkiln/result.hpp"
#include "table/table.hpp"

namespace spirkiln::gen {

// A blob counts for the first kernel, variant or value that uses it, and its packed bytes are its
// part of its frame: frames are packed as a whole.
struct Bytes {
  std::uint64_t variants = 0;
  std::uint64_t blobs = 0;   // different ones
  std::uint64_t raw = 0;     // of all variants
  std::uint64_t unique = 0;  // of the blobs
  double packed = 0;

  Bytes& operator+=(const Bytes& other);
};

struct KernelBytes {
  std::string kernel;
  Bytes bytes;
};

struct AxisBytes {
  std::string axis;   // "storage", "arithmetic", "resource", "int8" or a kernel's own
  std::string value;
  Bytes bytes;          // of the variants that have the value
  Bytes exclusive;      // of blobs that no variant with another value of the axis uses
};

struct DuplicateBlob {
  std::vector<std::string> variants;  // two or more, in the table's order
  std::uint64_t bytes;                // of one
};

// Variants of a kernel that are equal but for an axis, and whose modules differ in constants alone.
struct ConstantAxis {
  std::string kernel;
  std::string axis;
  std::vector<std::string> values;
  std::uint64_t pairs = 0;  // of variants that differ so
  std::uint64_t saved_unique = 0;  // bytes of the blobs that a constant would make superfluous
};

struct SizeReport {
  std::string table;
  std::string tool;
  std::uint64_t file_bytes = 0;
  std::uint64_t index_bytes = 0;  // packed
  std::uint64_t dictionary_bytes = 0;  // packed
  std::uint64_t frame_bytes = 0;  // packed
  std::vector<std::pair<std::string, std::uint64_t>> attachments;  // packed bytes by name
  Bytes all;
  std::vector<KernelBytes> kernels;  // largest first
  std::vector<AxisBytes> axes;  // in the order of axes, then values as they come
  std::vector<DuplicateBlob> duplicates;
  std::vector<ConstantAxis> constants;
  std::vector<std::string> ids_kept;  // variants whose modules are stored as words
};

// By kernel, in the table's order.
std::vector<KernelBytes> kernel_bytes(const Table& table);

// Of those variants, by value of each axis that has more than one.
std::vector<AxisBytes> axis_bytes(const Table& table,
                                  std::span<const table::VariantEntry> variants);

// Decodes every module. Errors: kCorrupt.
Result<SizeReport> size_report(const Table& table);

std::string report_text(const SizeReport& report);
std::string report_json(const SizeReport& report);
std::string report_html(const SizeReport& report);

}  // namespace spirkiln::gen
