// SPDX-License-Identifier: Apache-2.0
// Writes kernel tables straight from table_format.hpp. Shares no code with the generator, so that
// the runtime is held against the format and not against one writer of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "spirkiln/table_format.hpp"

namespace spirkiln::test {

struct TestSpec {
  std::uint32_t id;
  std::string name;
  table::SpecType type = table::SpecType::kUint;
  std::uint32_t default_bits = 0;
};

struct TestBinding {
  std::uint16_t binding;
  std::uint16_t flags = 0;  // table::BindingFlags
  std::uint16_t set = 0;
  table::BindingKind kind = table::BindingKind::kStorageBuffer;
};

struct TestBlob {
  std::vector<std::uint32_t> words;  // empty: a minimal header that is no real module
  std::uint32_t spirv_version = 0x00010000;
  std::uint32_t vulkan_version = 1u << 22;
  std::vector<std::uint32_t> capabilities = {1};
  std::vector<std::string> extensions;
  std::vector<TestBinding> bindings;
  std::vector<TestSpec> specs;
  std::uint32_t push_bytes = 0, shared_bytes = 0;
  std::uint32_t local_size[3] = {64, 1, 1};
  std::uint32_t local_size_id[3] = {table::kNone, table::kNone, table::kNone};
};

struct TestVariant {
  std::string name;
  table::Storage storage = table::Storage::kFp32;
  table::Arithmetic arithmetic = table::Arithmetic::kFp32;
  std::vector<std::pair<std::string, std::string>> axes;
  TestBlob blob;
  table::Resource resource = table::Resource::kBuffer;
  table::Int8 int8 = table::Int8::kNone;
  std::uint32_t axis_flags = 0;  // of all its axes
};

struct TestKernel {
  std::string name;
  std::vector<TestVariant> variants;
};

// Kernels are sorted by name here; each kernel's blobs go into a frame of their own.
// Attachments by name; they are written in the order given.
using TestAttachments = std::vector<std::pair<std::string, std::vector<std::byte>>>;
std::vector<std::byte> write_table(std::vector<TestKernel> kernels,
                                   const TestAttachments& attachments = {});

// The decoded index of a table (IndexHeader and its sections), and a table with another one: to
// change an entry and have it found by the checks of the fields.
std::vector<std::byte> index_of(const std::vector<std::byte>& table);
std::vector<std::byte> with_index(std::vector<std::byte> table,
                                  const std::vector<std::byte>& index);

// Makes the checksum fit the bytes again, so that a change behind the header is found by the checks
// of the fields and not by the checksum. Works on tables and on model packs.
void reseal_table(std::vector<std::byte>& bytes);
void reseal_pack(std::vector<std::byte>& bytes);

}  // namespace spirkiln::test
