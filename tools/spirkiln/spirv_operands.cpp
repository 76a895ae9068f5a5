// SPDX-License-Identifier: Apache-2.0
#include "spirv_operands.hpp"

#include <spirv-tools/libspirv.h>

#include <memory>
#include <spirv/unified1/spirv.hpp>

namespace spirkiln::gen {
namespace {

using table::OperandKind;

spv_result_t on_header(void* user, spv_endianness_t, std::uint32_t, std::uint32_t version,
                       std::uint32_t generator, std::uint32_t bound, std::uint32_t schema) {
  auto& module = *static_cast<OperandModule*>(user);
  module.version = version;
  module.generator = generator;
  module.bound = bound;
  module.schema = schema;
  return SPV_SUCCESS;
}

OperandKind kind_of(const spv_parsed_operand_t& operand) {
  switch (operand.type) {
    case SPV_OPERAND_TYPE_RESULT_ID:
      return OperandKind::kResult;
    case SPV_OPERAND_TYPE_ID:
    case SPV_OPERAND_TYPE_TYPE_ID:
    case SPV_OPERAND_TYPE_MEMORY_SEMANTICS_ID:
    case SPV_OPERAND_TYPE_SCOPE_ID:
      return OperandKind::kId;
    case SPV_OPERAND_TYPE_LITERAL_STRING:
      return OperandKind::kRaw;
    case SPV_OPERAND_TYPE_TYPED_LITERAL_NUMBER:
      // The bits of a float are long numbers.
      return operand.number_kind == SPV_NUMBER_FLOATING ? OperandKind::kRaw : OperandKind::kNumber;
    default:
      return OperandKind::kNumber;
  }
}

spv_result_t on_instruction(void* user, const spv_parsed_instruction_t* parsed) {
  auto& module = *static_cast<OperandModule*>(user);
  const std::size_t first = module.words.size();
  const auto count = static_cast<std::uint16_t>(parsed->num_words - 1);
  module.instructions.push_back({parsed->opcode, count, first});
  module.words.insert(module.words.end(), parsed->words + 1, parsed->words + parsed->num_words);
  module.kinds.resize(first + count, OperandKind::kRaw);
  for (std::uint16_t o = 0; o < parsed->num_operands; ++o) {
    const spv_parsed_operand_t& operand = parsed->operands[o];
    for (std::uint16_t w = 0; w < operand.num_words; ++w) {
      module.kinds[first + operand.offset - 1 + w] = kind_of(operand);
    }
  }
  return SPV_SUCCESS;
}

void find_globals(OperandModule& module) {
  module.is_global.assign(module.bound, false);
  for (const OperandInstruction& instruction : module.instructions) {
    if (instruction.opcode == spv::OpFunction) return;
    std::uint32_t result = 0;
    bool known = true;
    for (std::size_t i = instruction.first; i < instruction.first + instruction.operands; ++i) {
      if (module.kinds[i] == OperandKind::kResult) result = module.words[i];
      if (module.kinds[i] == OperandKind::kId) known = known && module.is_global[module.words[i]];
    }
    if (result != 0 && known) module.is_global[result] = true;
  }
}

}  // namespace

std::optional<OperandModule> read_operands(std::span<const std::uint32_t> words) {
  const std::unique_ptr<spv_context_t, decltype(&spvContextDestroy)> context(
      spvContextCreate(SPV_ENV_UNIVERSAL_1_6), spvContextDestroy);
  OperandModule module;
  // The parser itself checks that ids lie below the bound.
  if (spvBinaryParse(context.get(), &module, words.data(), words.size(), on_header, on_instruction,
                     nullptr) != SPV_SUCCESS) {
    return std::nullopt;
  }
  find_globals(module);
  return module;
}

}  // namespace spirkiln::gen
