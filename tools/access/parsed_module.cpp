// SPDX-License-Identifier: Apache-2.0
#include "parsed_module.hpp"

#include <algorithm>
#include <array>

#include "newer_spirv.hpp"
#include "spirv_module.hpp"
#include "spirv_operands.hpp"

namespace spirkiln::access {

Result<ParsedModule> ParsedModule::parse(std::vector<std::uint32_t> words) {
  ParsedModule module;
  module.words = std::move(words);
  const auto read = gen::read_operands(module.words);
  if (!read) {
    return Error{ErrorCode::kUnsupported,
                 "the module has instructions that neither the linked SPIRV-Tools nor "
                 "newer_operands.cpp know"};
  }
  module.instructions.resize(read->instructions.size());
  std::size_t at = 5;
  std::string_view file;
  std::uint32_t line = 0, file_id = 0;
  bool in_function = false;
  for (std::size_t n = 0; n < module.instructions.size(); ++n) {
    ParsedInstruction& i = module.instructions[n];
    const gen::OperandInstruction& known = read->instructions[n];
    i.op = known.opcode;
    i.operands = std::span(module.words).subspan(at + 1, known.operands);
    at += std::size_t{1} + known.operands;
    const auto& o = i.operands;
    // A result stands first, or behind its type.
    const auto kinds = read->kinds_of(known);
    for (std::size_t k = 0; k < std::min<std::size_t>(kinds.size(), 2); ++k) {
      if (kinds[k] != table::OperandKind::kResult) continue;
      i.result = o[k];
      if (k == 1) i.type = o[0];
    }
    switch (i.op) {
      case spv::OpString:
        module.strings_[o[0]] = gen::spirv_string(o.subspan(1));
        break;
      case spv::OpLine:
        file = module.strings_[o[0]];
        line = o[1];
        file_id = o[0];
        break;
      case spv::OpNoLine:
        file = {};
        line = file_id = 0;
        break;
      case spv::OpName:
        module.names_[o[0]] = gen::spirv_string(o.subspan(1));
        break;
      case spv::OpMemberName:
        module.member_names_[{o[0], o[1]}] = gen::spirv_string(o.subspan(2));
        break;
      case spv::OpDecorate:
        module.decorations_[{o[0], o[1]}] = o.size() > 2 ? o[2] : 0;
        break;
      case spv::OpMemberDecorate:
        module.member_decorations_[{o[0], o[1], o[2]}] = o.size() > 3 ? o[3] : 0;
        break;
      case spv::OpFunction:
        in_function = true;
        break;
      default:
        break;
    }
    i.function = in_function;
    i.file = file;
    i.line = line;
    i.file_id = file_id;
    if (i.result != 0) module.definitions_[i.result] = n;
    if (i.op == spv::OpFunctionEnd) in_function = false;
  }
  return module;
}

const ParsedInstruction* ParsedModule::definition(std::uint32_t id) const {
  const auto it = definitions_.find(id);
  return it == definitions_.end() ? nullptr : &instructions[it->second];
}

std::uint32_t ParsedModule::type_of(std::uint32_t id) const {
  const ParsedInstruction* d = definition(id);
  return d == nullptr ? 0 : d->type;
}

bool ParsedModule::has_capability(std::uint32_t capability) const {
  return std::any_of(instructions.begin(), instructions.end(), [&](const ParsedInstruction& i) {
    return i.op == spv::OpCapability && i.operands[0] == capability;
  });
}

std::int64_t ParsedModule::decoration(std::uint32_t id, std::uint32_t decoration) const {
  const auto it = decorations_.find({id, decoration});
  return it == decorations_.end() ? -1 : it->second;
}

std::int64_t ParsedModule::member_decoration(std::uint32_t id, std::uint32_t member,
                                             std::uint32_t decoration) const {
  const auto it = member_decorations_.find({id, member, decoration});
  return it == member_decorations_.end() ? -1 : it->second;
}

std::string ParsedModule::name(std::uint32_t id) const {
  const auto it = names_.find(id);
  return it == names_.end() ? std::string() : it->second;
}

std::string ParsedModule::member_name(std::uint32_t id, std::uint32_t member) const {
  const auto it = member_names_.find({id, member});
  return it == member_names_.end() ? std::string() : it->second;
}

ScalarType ParsedModule::scalar_of(std::uint32_t type) const {
  const ParsedInstruction* d = definition(type);
  if (d == nullptr) return {};
  switch (d->op) {
    case spv::OpTypeInt:
      return {d->operands[1], d->operands[2] != 0, false};
    case spv::OpTypeFloat:
      return {d->operands[1], true, true};
    case spv::OpTypeVector:
    case spv::OpTypeMatrix:
      return scalar_of(d->operands[1]);
    default:
      return {};
  }
}

std::optional<MatrixType> ParsedModule::matrix_of(std::uint32_t type) const {
  const ParsedInstruction* d = definition(type);
  if (d == nullptr || d->op != gen::kOpTypeCooperativeMatrixKhr) return std::nullopt;
  const auto rows = constant(d->operands[3]), columns = constant(d->operands[4]);
  const std::uint32_t width = scalar_of(d->operands[1]).width;
  if (rows <= 0 || columns <= 0 || width == 0) return std::nullopt;
  return MatrixType{static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(columns),
                    width / 8};
}

std::uint32_t ParsedModule::lanes_of(std::uint32_t type) const {
  const ParsedInstruction* d = definition(type);
  if (d == nullptr) return 0;
  const bool many = d->op == spv::OpTypeVector || d->op == spv::OpTypeMatrix;
  return many ? d->operands[2] * lanes_of(d->operands[1]) : 1;
}

std::uint32_t ParsedModule::element_of(std::uint32_t type) const {
  const ParsedInstruction* d = definition(type);
  return d != nullptr && d->op == spv::OpTypeVector ? d->operands[1] : type;
}

std::uint32_t ParsedModule::float_lanes(std::uint32_t type) const {
  return scalar_of(type).is_float ? lanes_of(type) : 0;
}

std::int64_t ParsedModule::constant(std::uint32_t id) const {
  const ParsedInstruction* d = definition(id);
  if (d == nullptr || scalar_of(d->type).width != 32) return -1;
  if (d->op == spv::OpConstantNull) return 0;
  return d->op == spv::OpConstant ? std::int64_t{d->operands[2]} : -1;
}

std::uint32_t ParsedModule::sets() const {
  std::int64_t most = -1;
  for (const auto& [key, value] : decorations_) {
    if (key.second == spv::DecorationDescriptorSet) most = std::max(most, value);
  }
  return static_cast<std::uint32_t>(most + 1);
}

}  // namespace spirkiln::access
