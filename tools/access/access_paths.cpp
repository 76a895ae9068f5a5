// SPDX-License-Identifier: Apache-2.0
#include "access_paths.hpp"

#include <algorithm>

#include "spirv_module.hpp"

namespace spirkiln::access {
namespace {

std::uint64_t round_up(std::uint64_t v, std::uint64_t to) { return (v + to - 1) / to * to; }

constexpr std::string_view kUnknown = "(a name that was optimised away)";

}  // namespace

// Workgroup memory has no layout in the module: each scalar lies at its own alignment and a vector
// of three takes four, as drivers lay it out.
std::uint64_t AccessPaths::shared_align(std::uint32_t type) const {
  const ParsedInstruction* d = module_.definition(type);
  switch (d->op) {
    case spv::OpTypeVector: {
      const std::uint64_t scalar = size_of(d->operands[1], true);
      return scalar * (d->operands[2] == 3 ? 4 : d->operands[2]);
    }
    case spv::OpTypeMatrix:
    case spv::OpTypeArray:
      return shared_align(d->operands[1]);
    case spv::OpTypeStruct: {
      std::uint64_t most = 1;
      for (const std::uint32_t member : d->operands.subspan(1)) {
        most = std::max(most, shared_align(member));
      }
      return most;
    }
    default:
      return std::max<std::uint64_t>(size_of(type, true), 1);
  }
}

std::uint64_t AccessPaths::member_offset(std::uint32_t type, std::uint32_t member,
                                         bool shared) const {
  const auto offset = module_.member_decoration(type, member, spv::DecorationOffset);
  if (offset >= 0 || !shared) return static_cast<std::uint64_t>(std::max<std::int64_t>(offset, 0));
  const auto members = module_.definition(type)->operands.subspan(1);
  std::uint64_t end = 0;
  for (std::uint32_t m = 0; m < members.size(); ++m) {
    const std::uint64_t at = round_up(end, shared_align(members[m]));
    if (m == member) return at;
    end = at + size_of(members[m], true);
  }
  return end;
}

std::uint64_t AccessPaths::size_of(std::uint32_t type, bool shared) const {
  const ParsedInstruction* d = module_.definition(type);
  if (d == nullptr) return 0;
  const auto& o = d->operands;
  switch (d->op) {
    case spv::OpTypeBool:
      return 4;
    case spv::OpTypeInt:
    case spv::OpTypeFloat:
      return o[1] / 8;
    case spv::OpTypeVector:
      return size_of(o[1], shared) * o[2];
    case spv::OpTypeMatrix: {
      const ParsedInstruction* column = module_.definition(o[1]);
      const std::uint64_t size = size_of(o[1], shared);
      return column->operands[2] == 3 ? size / 3 * 4 * o[2] : size * o[2];
    }
    case spv::OpTypeArray: {
      const auto length = module_.constant(o[2]);
      const auto stride = module_.decoration(o[0], spv::DecorationArrayStride);
      const std::uint64_t element = size_of(o[1], shared);
      const std::uint64_t step = stride > 0 ? static_cast<std::uint64_t>(stride)
                                 : shared   ? round_up(element, shared_align(o[1]))
                                            : element;
      // A length that a specialization constant decides: its default.
      if (length < 0) {
        const auto module = gen::SpirvModule::parse(module_.words);
        const auto known = module.ok() ? module->evaluate(o[2]) : std::nullopt;
        return known ? step * *known : 0;
      }
      return step * static_cast<std::uint64_t>(length);
    }
    case spv::OpTypeStruct: {
      std::uint64_t end = 0;
      for (std::uint32_t m = 0; m + 1 < o.size(); ++m) {
        end = std::max(end, member_offset(type, m, shared) + size_of(o[m + 1], shared));
      }
      return shared ? round_up(end, shared_align(type)) : end;
    }
    default:
      return 0;
  }
}

void AccessPaths::step(Path* path, Layout* at, std::uint32_t index, bool shared) const {
  const ParsedInstruction* d = module_.definition(at->type);
  const auto add = [&](std::uint64_t stride) {
    const auto known = module_.constant(index);
    if (known >= 0) {
      path->constant += static_cast<std::uint32_t>(known * static_cast<std::int64_t>(stride));
    } else {
      path->steps.push_back({index, static_cast<std::uint32_t>(stride)});
    }
  };
  const auto& o = d->operands;
  switch (d->op) {
    case spv::OpTypeStruct: {
      const auto member = static_cast<std::uint32_t>(module_.constant(index));
      path->constant += static_cast<std::uint32_t>(member_offset(at->type, member, shared));
      const auto stride = module_.member_decoration(at->type, member, spv::DecorationMatrixStride);
      const bool row = module_.member_decoration(at->type, member, spv::DecorationRowMajor) >= 0;
      if (path->root && path->root->name.empty()) {
        path->root->name = module_.member_name(at->type, member);
      }
      *at = {o[member + 1], static_cast<std::uint32_t>(std::max<std::int64_t>(stride, 0)), row};
      return;
    }
    case spv::OpTypeArray:
    case spv::OpTypeRuntimeArray: {
      const auto stride = module_.decoration(at->type, spv::DecorationArrayStride);
      add(stride > 0 ? static_cast<std::uint64_t>(stride)
                     : round_up(size_of(o[1], shared), shared ? shared_align(o[1]) : 1));
      at->type = o[1];
      return;
    }
    case spv::OpTypeMatrix: {
      const std::uint64_t scalar = module_.scalar_of(at->type).width / 8;
      const std::uint64_t column =
          at->matrix_stride != 0 ? at->matrix_stride : size_of(at->type, shared) / o[2];
      add(at->row_major ? scalar : column);
      at->type = o[1];
      return;
    }
    case spv::OpTypeVector:
      add(at->row_major && at->matrix_stride != 0 ? at->matrix_stride : size_of(o[1], shared));
      at->type = o[1];
      return;
    default:
      path->why = "an index into what is no composite";
  }
}

Path AccessPaths::of_pointer(std::uint32_t id) const {
  Path path;
  std::vector<const ParsedInstruction*> chains;  // the outermost last
  const ParsedInstruction* d = module_.definition(id);
  while (d != nullptr) {
    if (d->op == spv::OpAccessChain || d->op == spv::OpInBoundsAccessChain) {
      chains.push_back(d);
      d = module_.definition(d->operands[2]);
    } else if (d->op == spv::OpCopyObject) {
      d = module_.definition(d->operands[2]);
    } else {
      break;
    }
  }
  if (d == nullptr) return path;
  const ParsedInstruction* pointer = module_.definition(d->type);
  if (pointer == nullptr || pointer->op != spv::OpTypePointer) return path;
  const std::uint32_t storage = pointer->operands[1];
  const bool traced = storage == spv::StorageClassUniform ||
                      storage == spv::StorageClassStorageBuffer ||
                      storage == spv::StorageClassWorkgroup;
  if (storage == spv::StorageClassPhysicalStorageBuffer) {
    path.why = "an address of a buffer";
    return path;
  }
  if (!traced) return path;
  if (d->op != spv::OpVariable) {
    path.why = "a pointer that is chosen at run time or passed to a function";
    return path;
  }
  const bool shared = storage == spv::StorageClassWorkgroup;
  const std::uint32_t type = pointer->operands[2];
  Root root;
  root.name = module_.name(d->result);
  if (shared) {
    root.space = Space::kShared;
    root.resource = d->result;
    root.bytes = size_of(type, true);
  } else {
    const bool buffer = storage == spv::StorageClassStorageBuffer ||
                        module_.decoration(type, spv::DecorationBufferBlock) >= 0;
    root.space = buffer ? Space::kBuffer : Space::kUniform;
    const auto set = module_.decoration(d->result, spv::DecorationDescriptorSet);
    const auto binding = module_.decoration(d->result, spv::DecorationBinding);
    root.resource = static_cast<std::uint32_t>(std::max<std::int64_t>(set, 0) << 16 |
                                               std::max<std::int64_t>(binding, 0));
    if (module_.definition(type)->op != spv::OpTypeStruct) {
      path.why = "an array of resources";
      return path;
    }
  }
  path.root = root;
  Layout at{type};
  for (auto chain = chains.rbegin(); chain != chains.rend(); ++chain) {
    for (const std::uint32_t index : (*chain)->operands.subspan(3)) {
      step(&path, &at, index, shared);
      if (!path.why.empty()) return path;
    }
  }
  if (path.root->name.empty()) path.root->name = kUnknown;
  path.bytes = static_cast<std::uint32_t>(size_of(at.type, shared));
  return path;
}

std::optional<Root> AccessPaths::of_image(std::uint32_t id, bool is_pointer) const {
  const ParsedInstruction* d = module_.definition(id);
  while (d != nullptr && !is_pointer) {
    if (d->op == spv::OpLoad) is_pointer = true;
    if (d->op != spv::OpLoad && d->op != spv::OpImage && d->op != spv::OpSampledImage &&
        d->op != spv::OpCopyObject) {
      return std::nullopt;
    }
    d = module_.definition(d->operands[2]);
  }
  if (d == nullptr || d->op != spv::OpVariable) return std::nullopt;
  Root root;
  root.space = Space::kImage;
  root.name = module_.name(d->result);
  if (root.name.empty()) root.name = kUnknown;
  const auto set = module_.decoration(d->result, spv::DecorationDescriptorSet);
  const auto binding = module_.decoration(d->result, spv::DecorationBinding);
  root.resource = static_cast<std::uint32_t>(std::max<std::int64_t>(set, 0) << 16 |
                                             std::max<std::int64_t>(binding, 0));
  return root;
}

}  // namespace spirkiln::access
