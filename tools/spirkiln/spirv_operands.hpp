// SPDX-License-Identifier: Apache-2.0
// A module word by word, with what SPIRV-Tools' grammar says each operand is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spirkiln/table_format.hpp"

namespace spirkiln::gen {

struct OperandInstruction {
  std::uint16_t opcode;
  std::uint16_t operands;  // words behind the first
  std::size_t first;       // in OperandModule::words and ::kinds
};

struct OperandModule {
  std::uint32_t version = 0;
  std::uint32_t generator = 0;
  std::uint32_t bound = 0;
  std::uint32_t schema = 0;
  std::vector<OperandInstruction> instructions;
  std::vector<std::uint32_t> words;  // of all operands
  std::vector<table::OperandKind> kinds;
  // Of each id below `bound`: a type, constant or the like that is made of nothing but such.
  std::vector<bool> is_global;

  std::span<const std::uint32_t> operands(const OperandInstruction& i) const {
    return std::span(words).subspan(i.first, i.operands);
  }
  std::span<const table::OperandKind> kinds_of(const OperandInstruction& i) const {
    return std::span(kinds).subspan(i.first, i.operands);
  }
};

// Whether SPIRV-Tools itself can read the module, so that its validator can be asked.
bool spirv_tools_know(std::span<const std::uint32_t> words);

// Nothing for a module with instructions that neither this build's SPIRV-Tools nor
// newer_operands.hpp know.
std::optional<OperandModule> read_operands(std::span<const std::uint32_t> words);

}  // namespace spirkiln::gen
