// SPDX-License-Identifier: Apache-2.0
// What is in a table, as text or JSON.
#pragma once

#include <string>

#include "table_view.hpp"

namespace spirkiln::gen {

std::string list_text(const TableView& table);
std::string list_json(const TableView& table);
// One variant's reflection as JSON.
std::string reflection_json(const TableView& table, const table::VariantEntry& variant);

// "Shader", "Float16", ...; the number where the headers know no name.
std::string capability_name(std::uint32_t capability);

}  // namespace spirkiln::gen
