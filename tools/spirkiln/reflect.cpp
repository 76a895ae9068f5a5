// SPDX-License-Identifier: Apache-2.0
#include "reflect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <spirv/unified1/spirv.hpp>

#include "newer_spirv.hpp"
#include "spirv_module.hpp"
#include "table/answers.hpp"

namespace spirkiln::gen {
namespace {

Error refuse(std::string text) { return Error{ErrorCode::kUnsupported, std::move(text)}; }

bool is_subgroup_capability(std::uint32_t c) {
  return (c >= spv::CapabilityGroupNonUniform && c <= spv::CapabilityGroupNonUniformQuad) ||
         c == spv::CapabilitySubgroupBallotKHR || c == spv::CapabilitySubgroupVoteKHR;
}

Status read_binding(const SpirvModule& module, const SpirvModule::Instruction& variable,
                    Reflection& out) {
  const std::uint32_t id = variable.operands[1];
  const std::uint32_t storage = variable.operands[2];
  const auto* pointer = module.definition(variable.operands[0]);
  const std::uint32_t type = pointer->operands[2];
  const auto* definition = module.definition(type);
  if (definition == nullptr) return refuse("a resource of unknown type");
  const auto binding = module.decoration(id, spv::DecorationBinding);
  const auto set = module.decoration(id, spv::DecorationDescriptorSet);
  if (!binding) return refuse("a resource without layout(binding = ...)");
  if (definition->op == spv::OpTypeArray || definition->op == spv::OpTypeRuntimeArray) {
    return refuse(
        fmt::format("binding {} is an array of resources; tables know single ones", *binding));
  }
  table::BindingEntry entry{};
  if (*binding > 0xffff || set.value_or(0) > 0xffff) return refuse("a binding above 65535");
  entry.set = static_cast<std::uint16_t>(set.value_or(0));
  entry.binding = static_cast<std::uint16_t>(*binding);
  bool readonly = module.decoration(id, spv::DecorationNonWritable).has_value();
  bool writeonly = module.decoration(id, spv::DecorationNonReadable).has_value();
  if (definition->op == spv::OpTypeStruct) {
    const bool is_storage = storage == spv::StorageClassStorageBuffer ||
                            module.decoration(type, spv::DecorationBufferBlock).has_value();
    entry.kind =
        is_storage ? table::BindingKind::kStorageBuffer : table::BindingKind::kUniformBuffer;
    const auto members = static_cast<std::uint32_t>(definition->operands.size() - 1);
    bool all_readonly = members > 0;
    bool all_writeonly = members > 0;
    for (std::uint32_t m = 0; m < members; ++m) {
      all_readonly &= module.member_decoration(type, m, spv::DecorationNonWritable).has_value();
      all_writeonly &= module.member_decoration(type, m, spv::DecorationNonReadable).has_value();
    }
    readonly |= all_readonly || !is_storage;
    writeonly |= all_writeonly;
  } else if (definition->op == spv::OpTypeSampledImage) {
    entry.kind = table::BindingKind::kSampledImage;
    readonly = true;
  } else if (definition->op == spv::OpTypeImage && definition->operands[6] == 2) {
    entry.kind = table::BindingKind::kStorageImage;
  } else {
    return refuse(fmt::format("binding {} is neither a buffer, a storage image nor a sampled image",
                              *binding));
  }
  entry.flags = static_cast<std::uint16_t>((readonly ? table::kReadOnly : 0) |
                                           (writeonly ? table::kWriteOnly : 0));
  out.bindings.push_back(entry);
  return Ok{};
}

// The types of the words that a value at `offset` takes. `size_of` knows its size, so no type is
// within itself. `matrix_stride` is that of the member: also a column's padding counts as numbers.
void read_push_types(const SpirvModule& module, std::uint32_t type, std::uint64_t offset,
                     std::uint32_t matrix_stride, Reflection& out) {
  const auto& o = module.definition(type)->operands;
  const auto op = module.definition(type)->op;
  const std::uint64_t end = 4 * out.push_types.size();
  if (op == spv::OpTypeInt || op == spv::OpTypeFloat) {
    if (o[1] != 32 || offset % 4 != 0 || offset >= end) return;
    out.push_types[offset / 4] = op == spv::OpTypeFloat ? table::SpecType::kFloat
                                 : o[2] == 0            ? table::SpecType::kUint
                                                        : table::SpecType::kInt;
  } else if (op == spv::OpTypeMatrix) {
    const std::uint32_t component = module.definition(o[1])->operands[1];
    for (std::uint64_t at = 0; at < std::uint64_t{matrix_stride} * o[2] && offset + at < end;
         at += 4) {
      read_push_types(module, component, offset + at, 0, out);
    }
  } else if (op == spv::OpTypeVector || op == spv::OpTypeArray) {
    const std::uint64_t size = module.size_of(o[1], false).value_or(0);
    const std::uint64_t stride = module.decoration(o[0], spv::DecorationArrayStride).value_or(size);
    const std::uint32_t length = op == spv::OpTypeArray ? module.evaluate(o[2]).value_or(0) : o[2];
    if (stride == 0 || stride < size) return;  // elements within each other
    for (std::uint64_t i = 0; i < length && offset + i * stride < end; ++i) {
      read_push_types(module, o[1], offset + i * stride, matrix_stride, out);
    }
  } else if (op == spv::OpTypeStruct) {
    for (std::uint32_t m = 0; m + 1 < o.size(); ++m) {
      const auto at = module.member_decoration(o[0], m, spv::DecorationOffset);
      const auto columns = module.member_decoration(o[0], m, spv::DecorationMatrixStride);
      if (at) read_push_types(module, o[m + 1], offset + *at, columns.value_or(0), out);
    }
  }
}

Status read_variable(const SpirvModule& module, const SpirvModule::Instruction& variable,
                     std::uint64_t& shared, Reflection& out) {
  const auto* pointer = module.definition(variable.operands[0]);
  if (pointer == nullptr || pointer->op != spv::OpTypePointer) {
    return refuse("a variable without pointer type");
  }
  switch (variable.operands[2]) {
    case spv::StorageClassUniform:
    case spv::StorageClassUniformConstant:
    case spv::StorageClassStorageBuffer:
      return read_binding(module, variable, out);
    case spv::StorageClassPushConstant: {
      const auto size = module.size_of(pointer->operands[2], false);
      if (!size) return refuse("the push-constant block has no fixed size");
      out.push_bytes = std::max(out.push_bytes, static_cast<std::uint32_t>(*size));
      out.push_types.resize(std::min(out.push_bytes / 4, kMaxAnswerPushWords));
      read_push_types(module, pointer->operands[2], 0, 0, out);
      return Ok{};
    }
    case spv::StorageClassWorkgroup: {
      const auto size = module.size_of(pointer->operands[2], true);
      if (!size)
        return refuse("cannot tell the size of a shared variable at its default constants");
      shared = (shared + 15) / 16 * 16 + *size;
      return Ok{};
    }
    default:
      return Ok{};
  }
}

Status read_spec(const SpirvModule& module, const SpirvModule::Instruction& inst, Reflection& out) {
  const auto id = module.decoration(inst.operands[1], spv::DecorationSpecId);
  if (!id) return Ok{};
  SpecConstant spec;
  spec.id = *id;
  if (const std::string* name = module.name(inst.operands[1])) spec.name = *name;
  if (inst.op == spv::OpSpecConstant) {
    const auto* type = module.definition(inst.operands[0]);
    if (type == nullptr || inst.operands.size() != 3 || type->operands.size() < 2 ||
        type->operands[1] != 32) {
      return refuse(fmt::format("specialization constant {} is not 32 bits wide", spec.id));
    }
    spec.type = type->op == spv::OpTypeFloat ? table::SpecType::kFloat
                : type->operands.back() == 0 ? table::SpecType::kUint
                                             : table::SpecType::kInt;
    spec.default_bits = inst.operands[2];
  } else {
    spec.type = table::SpecType::kBool;
    spec.default_bits = inst.op == spv::OpSpecConstantTrue ? 1 : 0;
  }
  out.specs.push_back(std::move(spec));
  return Ok{};
}

// The WorkgroupSize constant, where there is one, overrides the execution mode.
void read_local_size(const SpirvModule& module, std::span<const std::uint32_t> ids,
                     Reflection& out) {
  for (std::size_t i = 0; i < 3 && i < ids.size(); ++i) {
    out.local_size[i] = module.evaluate(ids[i]).value_or(1);
    const auto* inst = module.definition(ids[i]);
    if (inst != nullptr && inst->op == spv::OpSpecConstant) {
      out.local_size_id[i] =
          module.decoration(ids[i], spv::DecorationSpecId).value_or(table::kNone);
    }
  }
}

}  // namespace

Result<Reflection> reflect(const std::vector<std::uint32_t>& words) {
  auto parsed = SpirvModule::parse(words);
  if (!parsed.ok()) return std::move(parsed).error();
  const SpirvModule& module = *parsed;
  Reflection out;
  out.spirv_version = module.version();
  unsigned entry_points = 0;
  std::uint64_t shared = 0;
  std::span<const std::uint32_t> workgroup_size;
  for (const auto& inst : module.instructions()) {
    Status status = Ok{};
    switch (inst.op) {
      case spv::OpCapability:
        out.capabilities.push_back(inst.operands[0]);
        break;
      case spv::OpExtension:
        out.extensions.push_back(spirv_string(inst.operands));
        break;
      case spv::OpEntryPoint:
        ++entry_points;
        if (inst.operands[0] != spv::ExecutionModelGLCompute) {
          return refuse("the entry point is not a compute shader");
        }
        break;
      case spv::OpExecutionMode:
        if (inst.operands[1] == spv::ExecutionModeLocalSize && inst.operands.size() == 5) {
          for (std::size_t i = 0; i < 3; ++i) out.local_size[i] = inst.operands[2 + i];
        }
        break;
      case spv::OpExecutionModeId:
        if (inst.operands[1] == spv::ExecutionModeLocalSizeId && inst.operands.size() == 5) {
          workgroup_size = inst.operands.subspan(2);
        }
        break;
      case spv::OpConstantComposite:
      case spv::OpSpecConstantComposite:
        if (module.decoration(inst.operands[1], spv::DecorationBuiltIn) ==
            std::uint32_t{spv::BuiltInWorkgroupSize}) {
          workgroup_size = inst.operands.subspan(2);
        }
        break;
      case spv::OpSpecConstant:
      case spv::OpSpecConstantTrue:
      case spv::OpSpecConstantFalse:
        status = read_spec(module, inst, out);
        break;
      case spv::OpVariable:
        status = read_variable(module, inst, shared, out);
        break;
      default:
        break;
    }
    if (!status.ok()) return status.error();
  }
  if (entry_points != 1) return refuse("expected exactly one entry point");
  if (!workgroup_size.empty()) read_local_size(module, workgroup_size, out);
  if (shared > 0xffffffffu) return refuse("shared variables need more than 4 GiB");
  out.shared_bytes = static_cast<std::uint32_t>(shared);

  std::sort(out.capabilities.begin(), out.capabilities.end());
  out.capabilities.erase(std::unique(out.capabilities.begin(), out.capabilities.end()),
                         out.capabilities.end());
  std::sort(out.extensions.begin(), out.extensions.end());
  out.extensions.erase(std::unique(out.extensions.begin(), out.extensions.end()),
                       out.extensions.end());
  for (std::uint32_t c : out.capabilities) {
    if (is_subgroup_capability(c)) out.flags |= table::kUsesSubgroupOps;
    if (c == kCapabilityCooperativeMatrixKhr || c == spv::CapabilityCooperativeMatrixNV) {
      out.flags |= table::kUsesCooperativeMatrix;
    }
  }
  const auto key = [](const table::BindingEntry& b) { return std::pair(b.set, b.binding); };
  std::sort(out.bindings.begin(), out.bindings.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  // Two blocks may view one buffer through one binding, say as scalars and as vectors.
  std::vector<table::BindingEntry> merged;
  for (const table::BindingEntry& b : out.bindings) {
    if (merged.empty() || key(merged.back()) != key(b)) {
      merged.push_back(b);
    } else if (merged.back().kind != b.kind) {
      return refuse(fmt::format("binding {} is declared as two kinds of resource", b.binding));
    } else {
      merged.back().flags &= b.flags;
    }
  }
  out.bindings = std::move(merged);
  std::sort(out.specs.begin(), out.specs.end(),
            [](const SpecConstant& a, const SpecConstant& b) { return a.id < b.id; });
  for (std::size_t i = 1; i < out.specs.size(); ++i) {
    if (out.specs[i].id == out.specs[i - 1].id) {
      return refuse(fmt::format("two specialization constants have the id {}", out.specs[i].id));
    }
  }
  return out;
}

std::map<std::uint32_t, std::string> spec_names(const std::vector<std::uint32_t>& words) {
  std::map<std::uint32_t, std::string> names;
  auto module = SpirvModule::parse(words);
  if (!module.ok()) return names;
  for (const auto& inst : module->instructions()) {
    if (inst.op != spv::OpSpecConstant && inst.op != spv::OpSpecConstantTrue &&
        inst.op != spv::OpSpecConstantFalse) {
      continue;
    }
    const auto id = module->decoration(inst.operands[1], spv::DecorationSpecId);
    const std::string* name = module->name(inst.operands[1]);
    if (id && name) names[*id] = *name;
  }
  return names;
}

}  // namespace spirkiln::gen
