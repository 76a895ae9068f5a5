// SPDX-License-Identifier: Apache-2.0
#include "newer_operands.hpp"

#include <algorithm>
#include <spirv/unified1/spirv.hpp>
#include <string_view>

#include "newer_spirv.hpp"

namespace spirkiln::gen {
namespace {

using table::OperandKind;

struct Grammar {
  std::uint16_t opcode;
  // Operands in order: t(ype) and i(d) are ids, r is the result, n a number. Behind '?' they may be
  // missing, and m stands for memory operands.
  std::string_view operands;
};

constexpr Grammar kGrammar[] = {
    {kOpTypeCooperativeMatrixKhr, "riiiii"},  {kOpCooperativeMatrixLoadKhr, "trii?im"},
    {kOpCooperativeMatrixStoreKhr, "iii?im"}, {kOpCooperativeMatrixMulAddKhr, "triii?n"},
    {kOpCooperativeMatrixLengthKhr, "tri"},
};

// A mask, and what its bits bring, from the lowest.
void add_memory_operands(std::uint32_t mask, std::vector<OperandKind>& kinds) {
  kinds.push_back(OperandKind::kNumber);
  if ((mask & spv::MemoryAccessAlignedMask) != 0) kinds.push_back(OperandKind::kNumber);
  for (const std::uint32_t bit : {std::uint32_t{spv::MemoryAccessMakePointerAvailableMask},
                                  std::uint32_t{spv::MemoryAccessMakePointerVisibleMask}}) {
    if ((mask & bit) != 0) kinds.push_back(OperandKind::kId);
  }
}

bool is_newer_capability(std::uint32_t capability) {
  return capability == kCapabilityCooperativeMatrixKhr ||
         capability == kCapabilityBFloat16TypeKhr ||
         capability == kCapabilityBFloat16DotProductKhr ||
         capability == kCapabilityBFloat16CooperativeMatrixKhr;
}

}  // namespace

std::optional<std::vector<OperandKind>> newer_operand_kinds(
    std::uint16_t opcode, std::span<const std::uint32_t> operands) {
  if (opcode == spv::OpCapability && operands.size() == 1 && is_newer_capability(operands[0])) {
    return std::vector{OperandKind::kNumber};
  }
  const auto grammar = std::find_if(std::begin(kGrammar), std::end(kGrammar),
                                    [&](const Grammar& g) { return g.opcode == opcode; });
  if (grammar == std::end(kGrammar)) return std::nullopt;
  std::vector<OperandKind> kinds;
  bool optional = false;
  for (const char c : grammar->operands) {
    if (c == '?') {
      optional = true;
      continue;
    }
    if (optional && kinds.size() >= operands.size()) break;
    if (c == 'm') {
      add_memory_operands(operands[kinds.size()], kinds);
    } else {
      kinds.push_back(c == 'r'   ? OperandKind::kResult
                      : c == 'n' ? OperandKind::kNumber
                                 : OperandKind::kId);
    }
  }
  if (kinds.size() != operands.size()) return std::nullopt;
  return kinds;
}

}  // namespace spirkiln::gen
