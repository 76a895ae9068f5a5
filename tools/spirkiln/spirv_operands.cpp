// SPDX-License-Identifier: Apache-2.0
#include "spirv_operands.hpp"

#include <spirv-tools/libspirv.h>

#include <memory>
#include <spirv/unified1/spirv.hpp>

#include "newer_operands.hpp"

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

// An instruction that SPIRV-Tools does not know: where it stands, and its words and their kinds.
struct Newer {
  std::size_t instruction;  // number
  std::uint16_t opcode;
  std::span<const std::uint32_t> operands;
  std::vector<OperandKind> kinds;
};

// Takes what SPIRV-Tools does not know out of `words`. Nothing where the words are no instructions.
std::optional<std::vector<Newer>> take_out_newer(std::span<const std::uint32_t> words,
                                                 std::vector<std::uint32_t>* rest) {
  constexpr std::size_t kHeader = 5;
  if (words.size() < kHeader) return std::nullopt;
  std::vector<Newer> newer;
  rest->assign(words.begin(), words.begin() + kHeader);
  std::size_t number = 0;
  for (std::size_t at = kHeader; at < words.size(); ++number) {
    const std::size_t count = words[at] >> 16;
    if (count == 0 || count > words.size() - at) return std::nullopt;
    const auto opcode = static_cast<std::uint16_t>(words[at] & 0xffff);
    const auto operands = words.subspan(at + 1, count - 1);
    if (auto kinds = newer_operand_kinds(opcode, operands)) {
      newer.push_back({number, opcode, operands, std::move(*kinds)});
    } else {
      rest->insert(rest->end(), words.begin() + static_cast<std::ptrdiff_t>(at),
                   words.begin() + static_cast<std::ptrdiff_t>(at + count));
    }
    at += count;
  }
  return newer;
}

// Puts them back. False where an id is not below the bound.
bool put_back(const std::vector<Newer>& newer, OperandModule& module) {
  if (newer.empty()) return true;
  OperandModule whole = module;
  whole.instructions.clear();
  whole.words.clear();
  whole.kinds.clear();
  const auto add = [&](std::uint16_t opcode, std::span<const std::uint32_t> words,
                       std::span<const OperandKind> kinds) {
    whole.instructions.push_back(
        {opcode, static_cast<std::uint16_t>(words.size()), whole.words.size()});
    whole.words.insert(whole.words.end(), words.begin(), words.end());
    whole.kinds.insert(whole.kinds.end(), kinds.begin(), kinds.end());
  };
  auto next = newer.begin();
  const auto add_newer = [&] {
    for (; next != newer.end() && next->instruction == whole.instructions.size(); ++next) {
      for (std::size_t i = 0; i < next->kinds.size(); ++i) {
        const bool is_id =
            next->kinds[i] == OperandKind::kId || next->kinds[i] == OperandKind::kResult;
        if (is_id && next->operands[i] >= module.bound) return false;
      }
      add(next->opcode, next->operands, next->kinds);
    }
    return true;
  };
  for (const OperandInstruction& i : module.instructions) {
    if (!add_newer()) return false;
    add(i.opcode, module.operands(i), module.kinds_of(i));
  }
  if (!add_newer()) return false;
  module = std::move(whole);
  return true;
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
  std::vector<std::uint32_t> known;
  const auto newer = take_out_newer(words, &known);
  // The parser itself checks that ids lie below the bound.
  if (!newer || spvBinaryParse(context.get(), &module, known.data(), known.size(), on_header,
                               on_instruction, nullptr) != SPV_SUCCESS) {
    return std::nullopt;
  }
  if (!put_back(*newer, module)) return std::nullopt;
  find_globals(module);
  return module;
}

bool spirv_tools_know(std::span<const std::uint32_t> words) {
  const std::unique_ptr<spv_context_t, decltype(&spvContextDestroy)> context(
      spvContextCreate(SPV_ENV_UNIVERSAL_1_6), spvContextDestroy);
  return spvBinaryParse(context.get(), nullptr, words.data(), words.size(), nullptr, nullptr,
                        nullptr) == SPV_SUCCESS;
}

}  // namespace spirkiln::gen
