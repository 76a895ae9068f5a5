// SPDX-License-Identifier: Apache-2.0
// Stage 9: ids by order of definition, so that modules that differ in ids alone are equal, and as
// the table's coding needs them (spirkiln/table_format.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace spirkiln::gen {

// Nothing for a module with instructions that this build's SPIRV-Tools does not know; its ids then
// stay as they are.
std::optional<std::vector<std::uint32_t>> canonical_ids(std::span<const std::uint32_t> words);

}  // namespace spirkiln::gen
