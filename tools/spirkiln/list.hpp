// SPDX-License-Identifier: Apache-2.0
// What is in a table, as text or JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "table/table.hpp"

namespace spirkiln::gen {

// Error kUnsupported for a text of more than 128 MiB: many variants may name one blob, so a small
// table can have a long one.
Result<std::string> list_text(const Table& table);
Result<std::string> list_json(const Table& table);
// A variant's module, decoded. Errors: kCorrupt.
Result<std::vector<std::uint32_t>> module_of(const Table& table,
                                             const table::VariantEntry& variant);
// One variant's reflection as JSON.
std::string reflection_json(const Table& table, const table::VariantEntry& variant);

// "fp16s" and "packed", as a manifest says them.
std::string_view storage_name(table::Storage storage);
std::string_view int8_name(table::Int8 int8);
// "storage-buffer", "uint", ...
std::string_view binding_kind_name(table::BindingKind kind);
std::string_view spec_type_name(table::SpecType type);

}  // namespace spirkiln::gen
