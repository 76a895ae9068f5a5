// SPDX-License-Identifier: Apache-2.0
// Instructions that are younger than the SPIRV-Tools of Debian 12: what each of their operands is.
// From the tables of SPV_KHR_cooperative_matrix.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spirkiln/table_format.hpp"

namespace spirkiln::gen {

// The kinds of the operands behind an instruction's first word. Nothing where SPIRV-Tools is to be
// asked, or where the operands are not those of the instruction.
std::optional<std::vector<table::OperandKind>> newer_operand_kinds(
    std::uint16_t opcode, std::span<const std::uint32_t> operands);

}  // namespace spirkiln::gen
