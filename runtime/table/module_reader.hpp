// SPDX-License-Identifier: Apache-2.0
// What a SPIR-V module needs and offers, read from its words: for modules that lie in no table, and
// for what tables do not say. The generator has a reader of its own, which knows more of a module;
// the tests compare the two.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spirkiln/result.hpp"
#include "spirkiln/table_format.hpp"

namespace spirkiln {

// As in OpTypeImage.
struct ModuleImage {
  std::uint32_t dimensions = 2;  // 1, 2 or 3
  std::uint32_t format = 0;  // spv::ImageFormat; 0: any
  bool operator==(const ModuleImage&) const = default;
};

struct ModuleBinding {
  table::BindingEntry entry{};
  std::string name;  // of the variable or its block; empty without names
  std::uint64_t min_bytes = 0;  // of a buffer, with one element where it ends with an array
  ModuleImage image;  // of an image
};

struct ModuleConstant {
  std::uint32_t id = 0;  // SpecId
  std::string name;
  // Nothing where it is not 32 bits wide: it keeps its default.
  std::optional<table::SpecType> type;
  std::uint32_t default_bits = 0;
};

struct ModuleInfo {
  std::uint32_t spirv_version = 0;
  std::string entry;  // name of the only entry point
  std::vector<std::uint32_t> capabilities;  // ascending
  std::vector<std::string> extensions;
  std::vector<ModuleBinding> bindings;  // ascending (set, binding), each once
  std::vector<ModuleConstant> constants;  // ascending id, those of the local size among them
  std::uint32_t push_bytes = 0;
  // Of workgroup memory, with the given values of constants; nothing where that cannot be told.
  std::optional<std::uint64_t> shared_bytes;
  std::array<std::uint32_t, 3> local_size{1, 1, 1};  // defaults
  std::array<std::uint32_t, 3> local_size_id{table::kNone, table::kNone, table::kNone};
  // Index of the first of the three words that hold a local size which nothing in the module reads;
  // 0 where it is made of constants.
  std::size_t local_size_word = 0;
};

struct ModuleValue {
  std::uint32_t id, bits;
};

// `values` replace defaults of constants where sizes depend on them. Everything that is indexed or
// followed is checked; whether the module is valid otherwise is not. Errors: kCorrupt where the
// words are no module; kUnsupported for what this library cannot bind or run.
Result<ModuleInfo> read_module(std::span<const std::uint32_t> words,
                               std::span<const ModuleValue> values = {});

}  // namespace spirkiln
