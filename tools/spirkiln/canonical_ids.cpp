// SPDX-License-Identifier: Apache-2.0
#include "canonical_ids.hpp"

#include "spirv_operands.hpp"

namespace spirkiln::gen {

using table::OperandKind;

std::optional<std::vector<std::uint32_t>> canonical_ids(std::span<const std::uint32_t> words) {
  const auto module = read_operands(words);
  if (!module) return std::nullopt;
  // Globals first, then all other results, each in their order.
  std::vector<std::uint32_t> id(module->bound, 0);
  std::uint32_t last = 0;
  for (const bool global : {true, false}) {
    for (std::size_t i = 0; i < module->words.size(); ++i) {
      const std::uint32_t old = module->words[i];
      if (module->kinds[i] == OperandKind::kResult && module->is_global[old] == global) {
        id[old] = ++last;
      }
    }
  }
  std::vector<std::uint32_t> out(words.begin(), words.begin() + 5);
  out.reserve(words.size());
  out[3] = last + 1;
  for (const OperandInstruction& instruction : module->instructions) {
    out.push_back((instruction.operands + 1u) << 16 | instruction.opcode);
    for (std::size_t o = 0; o < instruction.operands; ++o) {
      const std::uint32_t word = module->words[instruction.first + o];
      const OperandKind kind = module->kinds[instruction.first + o];
      const bool is_id = kind == OperandKind::kResult || kind == OperandKind::kId;
      if (is_id && id[word] == 0) return std::nullopt;  // used and never defined
      out.push_back(is_id ? id[word] : word);
    }
  }
  return out;
}

}  // namespace spirkiln::gen
