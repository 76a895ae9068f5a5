// SPDX-License-Identifier: Apache-2.0
// Stage 11: what a module needs and offers, read from its words.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spirkiln/result.hpp"
#include "spirkiln/table_format.hpp"

namespace spirkiln::gen {

struct SpecConstant {
  std::uint32_t id = 0;
  std::string name;  // empty where the module has no names
  table::SpecType type = table::SpecType::kInt;
  std::uint32_t default_bits = 0;
};

struct Reflection {
  std::uint32_t spirv_version = 0;
  std::uint32_t flags = 0;  // table::BlobFlags
  std::vector<std::uint32_t> capabilities;  // ascending
  std::vector<std::string> extensions;      // ascending
  std::vector<table::BindingEntry> bindings;  // ascending (set, binding), each once
  std::vector<SpecConstant> specs;            // ascending id
  std::uint32_t push_bytes = 0;
  // Of the words of the push constants that an answer can give (kMaxAnswerPushWords); nothing where
  // a word is no whole number or float of 32 bits.
  std::vector<std::optional<table::SpecType>> push_types;
  std::uint32_t shared_bytes = 0;
  std::array<std::uint32_t, 3> local_size = {1, 1, 1};
  std::array<std::uint32_t, 3> local_size_id = {table::kNone, table::kNone, table::kNone};
};

// Works with and without names. An Error says what a table cannot describe, or that the words are
// no module.
Result<Reflection> reflect(const std::vector<std::uint32_t>& words);

// SpecId -> OpName of the constant, from a module that still has its names.
std::map<std::uint32_t, std::string> spec_names(const std::vector<std::uint32_t>& words);

}  // namespace spirkiln::gen
