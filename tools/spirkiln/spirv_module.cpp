// SPDX-License-Identifier: Apache-2.0
#include "spirv_module.hpp"

#include <algorithm>
#include <spirv/unified1/spirv.hpp>

#include "newer_spirv.hpp"

namespace spirkiln::gen {
namespace {

// Chains of constants and nested types in real modules are a few steps long.
constexpr unsigned kMaxDepth = 64;
constexpr std::uint64_t kMaxBytes = 0xffffffffu;

Error bad(const char* what) {
  return Error{ErrorCode::kCorrupt, std::string("not a SPIR-V module: ") + what};
}

std::uint64_t member_key(std::uint32_t id, std::uint32_t member) {
  return (std::uint64_t{id} << 32) | member;
}

// Smallest number of operand words of each instruction that is looked into.
std::size_t least_operands(std::uint32_t op) {
  switch (op) {
    case spv::OpCapability:
    case spv::OpExtension:
    case spv::OpTypeVoid:
    case spv::OpTypeBool:
    case spv::OpTypeStruct:
    case spv::OpTypeSampler:
      return 1;
    case spv::OpName:
    case spv::OpDecorate:
    case spv::OpExecutionMode:
    case spv::OpExecutionModeId:
    case spv::OpTypeFloat:
    case spv::OpTypeRuntimeArray:
    case spv::OpTypeSampledImage:
    case spv::OpConstantTrue:
    case spv::OpConstantFalse:
    case spv::OpSpecConstantTrue:
    case spv::OpSpecConstantFalse:
    case spv::OpConstantNull:
    case spv::OpConstantComposite:
    case spv::OpSpecConstantComposite:
      return 2;
    case spv::OpMemberDecorate:
    case spv::OpTypeInt:
    case spv::OpTypeVector:
    case spv::OpTypeMatrix:
    case spv::OpTypeArray:
    case spv::OpTypePointer:
    case spv::OpConstant:
    case spv::OpSpecConstant:
    case spv::OpSpecConstantOp:
    case spv::OpVariable:
    case spv::OpEntryPoint:
      return 3;
    // Type of the elements, scope, rows, columns and use.
    case kOpTypeCooperativeMatrixKhr:
      return 6;
    case spv::OpTypeImage:
      return 8;
    default:
      return 0;
  }
}

// The operand that holds the result id of a global definition, or -1.
int result_operand(std::uint32_t op) {
  switch (op) {
    case spv::OpTypeVoid:
    case spv::OpTypeBool:
    case spv::OpTypeInt:
    case spv::OpTypeFloat:
    case spv::OpTypeVector:
    case spv::OpTypeMatrix:
    case spv::OpTypeImage:
    case spv::OpTypeSampler:
    case spv::OpTypeSampledImage:
    case spv::OpTypeArray:
    case spv::OpTypeRuntimeArray:
    case spv::OpTypeStruct:
    case spv::OpTypePointer:
    case kOpTypeCooperativeMatrixKhr:
      return 0;
    case spv::OpConstantTrue:
    case spv::OpConstantFalse:
    case spv::OpConstant:
    case spv::OpConstantNull:
    case spv::OpConstantComposite:
    case spv::OpSpecConstantTrue:
    case spv::OpSpecConstantFalse:
    case spv::OpSpecConstant:
    case spv::OpSpecConstantComposite:
    case spv::OpSpecConstantOp:
    case spv::OpVariable:
      return 1;
    default:
      return -1;
  }
}

}  // namespace

std::string spirv_string(std::span<const std::uint32_t> words) {
  std::string text;
  for (std::uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) {
      const char c = static_cast<char>((word >> shift) & 0xffu);
      if (c == '\0') return text;
      text += c;
    }
  }
  return text;
}

Result<SpirvModule> SpirvModule::parse(const std::vector<std::uint32_t>& words) {
  if (words.size() < 5 || words[0] != spv::MagicNumber) return bad("wrong magic number");
  SpirvModule module;
  module.version_ = words[1];
  for (std::size_t at = 5; at < words.size();) {
    const std::uint32_t count = words[at] >> spv::WordCountShift;
    const auto op = static_cast<std::uint16_t>(words[at] & spv::OpCodeMask);
    if (count == 0 || at + count > words.size()) return bad("an instruction runs past the end");
    const std::span operands(words.data() + at + 1, count - 1);
    if (operands.size() < least_operands(op)) return bad("an instruction is too short");
    if (const int result = result_operand(op); result >= 0) {
      module.definitions_[operands[static_cast<std::size_t>(result)]] = module.instructions_.size();
    }
    if (op == spv::OpDecorate) {
      module.decorations_[operands[0]].push_back(
          {operands[1], operands.size() > 2 ? operands[2] : 0});
    } else if (op == spv::OpMemberDecorate) {
      module.member_decorations_[member_key(operands[0], operands[1])].push_back(
          {operands[2], operands.size() > 3 ? operands[3] : 0});
    } else if (op == spv::OpName) {
      module.names_[operands[0]] = spirv_string(operands.subspan(1));
    }
    module.instructions_.push_back({op, operands});
    at += count;
  }
  return module;
}

const SpirvModule::Instruction* SpirvModule::definition(std::uint32_t id) const {
  const auto it = definitions_.find(id);
  return it == definitions_.end() ? nullptr : &instructions_[it->second];
}

std::optional<std::uint32_t> SpirvModule::decoration(std::uint32_t id,
                                                     std::uint32_t decoration) const {
  const auto it = decorations_.find(id);
  if (it == decorations_.end()) return std::nullopt;
  for (const Decoration& d : it->second) {
    if (d.decoration == decoration) return d.value;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> SpirvModule::member_decoration(std::uint32_t id, std::uint32_t member,
                                                            std::uint32_t decoration) const {
  const auto it = member_decorations_.find(member_key(id, member));
  if (it == member_decorations_.end()) return std::nullopt;
  for (const Decoration& d : it->second) {
    if (d.decoration == decoration) return d.value;
  }
  return std::nullopt;
}

const std::string* SpirvModule::name(std::uint32_t id) const {
  const auto it = names_.find(id);
  return it == names_.end() ? nullptr : &it->second;
}

std::optional<std::uint32_t> SpirvModule::evaluate(std::uint32_t id, unsigned depth) const {
  const Instruction* inst = definition(id);
  if (inst == nullptr || depth > kMaxDepth) return std::nullopt;
  switch (inst->op) {
    case spv::OpConstant:
    case spv::OpSpecConstant:
      return inst->operands[2];
    case spv::OpConstantTrue:
    case spv::OpSpecConstantTrue:
      return 1;
    case spv::OpConstantFalse:
    case spv::OpSpecConstantFalse:
    case spv::OpConstantNull:
      return 0;
    case spv::OpSpecConstantOp:
      return evaluate_operation(*inst, depth);
    default:
      return std::nullopt;
  }
}

std::optional<std::uint32_t> SpirvModule::evaluate_operation(const Instruction& inst,
                                                             unsigned depth) const {
  const std::uint32_t op = inst.operands[2];
  const std::span args = inst.operands.subspan(3);
  if (op == spv::OpCompositeExtract) {
    if (args.size() != 2) return std::nullopt;
    const Instruction* composite = definition(args[0]);
    if (composite == nullptr || (composite->op != spv::OpConstantComposite &&
                                 composite->op != spv::OpSpecConstantComposite)) {
      return std::nullopt;
    }
    const std::size_t at = 2 + std::size_t{args[1]};
    if (at >= composite->operands.size()) return std::nullopt;
    return evaluate(composite->operands[at], depth + 1);
  }
  std::uint32_t v[3] = {};
  if (args.empty() || args.size() > 3) return std::nullopt;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto value = evaluate(args[i], depth + 1);
    if (!value) return std::nullopt;
    v[i] = *value;
  }
  const auto a = static_cast<std::int32_t>(v[0]);
  const auto b = static_cast<std::int32_t>(v[1]);
  // INT_MIN / -1 is undefined in SPIR-V as well as here.
  const bool divides = v[1] != 0 && !(a == INT32_MIN && b == -1);
  switch (op) {
    case spv::OpIAdd:
      return v[0] + v[1];
    case spv::OpISub:
      return v[0] - v[1];
    case spv::OpIMul:
      return v[0] * v[1];
    case spv::OpSNegate:
      return 0u - v[0];
    case spv::OpNot:
      return ~v[0];
    case spv::OpUDiv:
      return v[1] != 0 ? std::optional(v[0] / v[1]) : std::nullopt;
    case spv::OpUMod:
      return v[1] != 0 ? std::optional(v[0] % v[1]) : std::nullopt;
    case spv::OpSDiv:
      return divides ? std::optional(static_cast<std::uint32_t>(a / b)) : std::nullopt;
    case spv::OpSRem:
      return divides ? std::optional(static_cast<std::uint32_t>(a % b)) : std::nullopt;
    case spv::OpSMod: {
      if (!divides) return std::nullopt;
      const std::int32_t r = a % b;
      return static_cast<std::uint32_t>(r != 0 && (r < 0) != (b < 0) ? r + b : r);
    }
    case spv::OpShiftLeftLogical:
      return v[1] < 32 ? v[0] << v[1] : 0;
    case spv::OpShiftRightLogical:
      return v[1] < 32 ? v[0] >> v[1] : 0;
    case spv::OpShiftRightArithmetic:
      return static_cast<std::uint32_t>(a >> std::min<std::uint32_t>(v[1], 31));
    case spv::OpBitwiseAnd:
    case spv::OpLogicalAnd:
      return v[0] & v[1];
    case spv::OpBitwiseOr:
    case spv::OpLogicalOr:
      return v[0] | v[1];
    case spv::OpBitwiseXor:
      return v[0] ^ v[1];
    case spv::OpLogicalNot:
      return v[0] == 0;
    case spv::OpIEqual:
    case spv::OpLogicalEqual:
      return v[0] == v[1];
    case spv::OpINotEqual:
    case spv::OpLogicalNotEqual:
      return v[0] != v[1];
    case spv::OpULessThan:
      return v[0] < v[1];
    case spv::OpULessThanEqual:
      return v[0] <= v[1];
    case spv::OpUGreaterThan:
      return v[0] > v[1];
    case spv::OpUGreaterThanEqual:
      return v[0] >= v[1];
    case spv::OpSLessThan:
      return a < b;
    case spv::OpSLessThanEqual:
      return a <= b;
    case spv::OpSGreaterThan:
      return a > b;
    case spv::OpSGreaterThanEqual:
      return a >= b;
    case spv::OpSelect:
      return v[0] != 0 ? v[1] : v[2];
    case spv::OpUConvert:
    case spv::OpSConvert:
    case spv::OpBitcast:
      return v[0];
    default:
      return std::nullopt;
  }
}

std::optional<std::uint64_t> SpirvModule::size_of(std::uint32_t type, bool workgroup,
                                                  unsigned depth) const {
  const Instruction* inst = definition(type);
  if (inst == nullptr || depth > kMaxDepth) return std::nullopt;
  const auto& o = inst->operands;
  switch (inst->op) {
    case spv::OpTypeBool:
      return 4;
    case spv::OpTypeInt:
    case spv::OpTypeFloat:
      return o[1] / 8;
    case spv::OpTypeVector:
    case spv::OpTypeMatrix: {
      const auto element = size_of(o[1], workgroup, depth + 1);
      if (!element || o[2] > 16) return std::nullopt;
      const std::uint64_t column =
          inst->op == spv::OpTypeMatrix && *element % 3 == 0 ? *element / 3 * 4 : *element;
      return column * o[2];
    }
    case spv::OpTypeArray: {
      const auto element = size_of(o[1], workgroup, depth + 1);
      const auto length = evaluate(o[2]);
      if (!element || !length) return std::nullopt;
      std::uint64_t stride = *element;
      if (const auto explicit_stride = decoration(o[0], spv::DecorationArrayStride)) {
        stride = *explicit_stride;
      } else if (const Instruction* e = definition(o[1]);
                 e != nullptr && e->op == spv::OpTypeVector && e->operands[2] == 3) {
        stride = *element / 3 * 4;
      }
      if (stride != 0 && *length > kMaxBytes / stride) return std::nullopt;
      return stride * *length;
    }
    case spv::OpTypeStruct: {
      std::uint64_t end = 0;
      for (std::size_t i = 1; i < o.size(); ++i) {
        const auto member = static_cast<std::uint32_t>(i - 1);
        auto size = size_of(o[i], workgroup, depth + 1);
        if (!size) return std::nullopt;
        if (const auto stride = member_decoration(o[0], member, spv::DecorationMatrixStride)) {
          const Instruction* matrix = definition(o[i]);
          if (matrix->op == spv::OpTypeMatrix) size = std::uint64_t{*stride} * matrix->operands[2];
        }
        const auto offset = member_decoration(o[0], member, spv::DecorationOffset);
        if (offset) {
          end = std::max(end, *offset + *size);
        } else if (workgroup) {
          // Vulkan counts padding; 16 bytes is the widest natural alignment.
          const std::uint64_t align = *size >= 16 ? 16 : *size >= 8 ? 8 : *size >= 4 ? 4 : 2;
          end = (end + align - 1) / align * align + *size;
        } else {
          return std::nullopt;
        }
        if (end > kMaxBytes) return std::nullopt;
      }
      return end;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace spirkiln::gen
