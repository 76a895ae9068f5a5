// SPDX-License-Identifier: Apache-2.0
#include "instrument.hpp"

#include <fmt/format.h>

#include <set>
#include <span>

#include "access_paths.hpp"
#include "module_editor.hpp"
#include "newer_spirv.hpp"
#include "trace_functions.hpp"

namespace spirkiln::access {
namespace {

constexpr std::size_t kMaxSites = 65535;
// Layouts of SPV_KHR_cooperative_matrix.
constexpr std::int64_t kRowMajor = 0, kColumnMajor = 1;

// Additions and multiplications of one execution; 0 for what is none.
std::uint32_t flops_of(const ParsedModule& module, const ParsedInstruction& i) {
  const auto lanes = [&](std::uint32_t type) { return module.float_lanes(type); };
  switch (i.op) {
    case spv::OpFAdd:
    case spv::OpFSub:
    case spv::OpFMul:
    case spv::OpFDiv:
    case spv::OpVectorTimesScalar:
    case spv::OpMatrixTimesScalar:
      return lanes(i.type);
    case spv::OpDot: {
      const std::uint32_t n = lanes(module.type_of(i.operands[2]));
      return n == 0 ? 0 : 2 * n - 1;
    }
    case spv::OpMatrixTimesVector: {
      const std::uint32_t n = lanes(module.type_of(i.operands[3]));
      return n == 0 ? 0 : lanes(i.type) * (2 * n - 1);
    }
    case spv::OpVectorTimesMatrix: {
      const std::uint32_t n = lanes(module.type_of(i.operands[2]));
      return n == 0 ? 0 : lanes(i.type) * (2 * n - 1);
    }
    case spv::OpExtInst: {
      constexpr std::uint32_t kFma = 50;  // GLSL.std.450
      return lanes(i.type) * (i.operands[3] == kFma ? 2 : 1);
    }
    default:
      return 0;
  }
}

// Of a product of cooperative matrices, which a subgroup makes together.
std::uint32_t matrix_flops_of(const ParsedModule& module, const ParsedInstruction& i) {
  if (i.op != gen::kOpCooperativeMatrixMulAddKhr) return 0;
  const auto a = module.matrix_of(module.type_of(i.operands[2]));
  const auto sum = module.matrix_of(i.type);
  return a && sum ? 2 * sum->rows * sum->columns * a->columns : 0;
}

class Pass {
 public:
  explicit Pass(const ParsedModule& module)
      : module_(module), editor_(module), paths_(module), functions_(module, editor_) {}

  Result<Instrumented> run() {
    out_.trace_set = module_.sets();
    functions_.declare(out_.trace_set);
    for (std::size_t i = 0; i < module_.instructions.size(); ++i) {
      const ParsedInstruction& inst = module_.instructions[i];
      if (inst.function && count_flops(i)) continue;
      if (inst.function) visit(i);
      if (out_.sites.size() > kMaxSites) {
        return Error{ErrorCode::kUnsupported,
                     fmt::format("the kernel has more than {} accesses in its code", kMaxSites)};
      }
    }
    functions_.define();
    out_.words = editor_.finish(functions_.entry());
    return std::move(out_);
  }

 private:
  // At the end of a block, how much arithmetic it holds. True where nothing else is to be done.
  bool count_flops(std::size_t at) {
    const ParsedInstruction& inst = module_.instructions[at];
    flops_ += flops_of(module_, inst);
    matrix_flops_ += matrix_flops_of(module_, inst);
    const bool merge = inst.op == spv::OpSelectionMerge || inst.op == spv::OpLoopMerge;
    const bool end = inst.op == spv::OpBranch || inst.op == spv::OpBranchConditional ||
                     inst.op == spv::OpSwitch || inst.op == spv::OpReturn ||
                     inst.op == spv::OpReturnValue || inst.op == spv::OpUnreachable ||
                     inst.op == spv::OpKill;
    if ((merge || end) && flops_ > 0) {
      editor_.at(at);
      functions_.call_flops(flops_);
      flops_ = 0;
    }
    if ((merge || end) && matrix_flops_ > 0) {
      editor_.at(at);
      functions_.call_subgroup_flops(matrix_flops_);
      matrix_flops_ = 0;
    }
    return merge || end;
  }

  void visit(std::size_t at) {
    const ParsedInstruction& i = module_.instructions[at];
    const auto& o = i.operands;
    switch (i.op) {
      case spv::OpLoad:
        return pointer(at, o[2], Access::kLoad);
      case spv::OpStore:
        return pointer(at, o[0], Access::kStore);
      case spv::OpCopyMemory:
        pointer(at, o[1], Access::kLoad);
        return pointer(at, o[0], Access::kStore);
      case spv::OpCopyMemorySized:
        return untraced(i, "a copy of a number of bytes");
      case spv::OpAtomicStore:
        return pointer(at, o[0], Access::kAtomic);
      case spv::OpAtomicLoad:
      case spv::OpAtomicExchange:
      case spv::OpAtomicCompareExchange:
      case spv::OpAtomicIIncrement:
      case spv::OpAtomicIDecrement:
      case spv::OpAtomicIAdd:
      case spv::OpAtomicISub:
      case spv::OpAtomicSMin:
      case spv::OpAtomicUMin:
      case spv::OpAtomicSMax:
      case spv::OpAtomicUMax:
      case spv::OpAtomicAnd:
      case spv::OpAtomicOr:
      case spv::OpAtomicXor:
      case spv::OpAtomicFAddEXT:
      case spv::OpAtomicFMinEXT:
      case spv::OpAtomicFMaxEXT:
        return pointer(at, o[2], Access::kAtomic);
      case spv::OpImageRead:
      case spv::OpImageFetch:
        return texel(at, o[2], o[3], Access::kLoad);
      case spv::OpImageWrite:
        return texel(at, o[0], o[1], Access::kStore);
      case spv::OpImageSampleExplicitLod:
      case spv::OpImageSampleImplicitLod:
      case spv::OpImageGather:
        return texel(at, o[2], o[3], Access::kLoad);
      case spv::OpImageSampleDrefExplicitLod:
      case spv::OpImageSampleProjExplicitLod:
      case spv::OpImageSampleProjDrefExplicitLod:
      case spv::OpImageDrefGather:
      case spv::OpImageSparseRead:
      case spv::OpImageSparseFetch:
        return untraced(i, "a comparing, projecting or sparse read of an image");
      case gen::kOpCooperativeMatrixLoadKhr:
        return matrix(at, o[2], i.type, o[3], o.size() > 4 ? o[4] : 0, Access::kLoad);
      case gen::kOpCooperativeMatrixStoreKhr:
        return matrix(at, o[0], module_.type_of(o[1]), o[2], o.size() > 3 ? o[3] : 0,
                      Access::kStore);
      case spv::OpCooperativeMatrixLoadNV:
      case spv::OpCooperativeMatrixStoreNV:
        return untraced(i, "a cooperative matrix of the NV extension");
      default:
        return;
    }
  }

  void untraced(const ParsedInstruction& i, std::string why) {
    out_.untraced.push_back({std::string(i.file), i.line, std::move(why)});
  }

  std::uint32_t add_site(const ParsedInstruction& i, const Root& root, Access access,
                         std::uint32_t bytes) {
    Site site;
    site.file = std::string(i.file);
    site.line = i.line;
    site.space = root.space;
    site.access = access;
    site.name = root.name;
    site.resource = root.resource;
    site.bytes = bytes;
    site.resource_bytes = root.bytes;
    out_.sites.push_back(std::move(site));
    return static_cast<std::uint32_t>(out_.sites.size() - 1);
  }

  void pointer(std::size_t at, std::uint32_t id, Access access) {
    const ParsedInstruction& inst = module_.instructions[at];
    if (const auto* texel_pointer = module_.definition(id);
        texel_pointer != nullptr && texel_pointer->op == spv::OpImageTexelPointer) {
      const auto& o = texel_pointer->operands;
      return texel(at, o[2], o[3], access, true);
    }
    const Path path = paths_.of_pointer(id);
    if (!path.why.empty()) return untraced(inst, path.why);
    if (!path.root) return;  // registers, push constants, handles of images
    editor_.at(at);
    const std::uint32_t offset = emit_offset(path);
    const std::uint32_t site = add_site(inst, *path.root, access, path.bytes);
    functions_.call_record(site, offset, editor_.constant(0));
  }

  // `stride`: id of the elements, of the pointer's type, from one line to the next; 0: none.
  void matrix(std::size_t at, std::uint32_t id, std::uint32_t type, std::uint32_t layout,
              std::uint32_t stride, Access access) {
    const ParsedInstruction& inst = module_.instructions[at];
    const auto shape = module_.matrix_of(type);
    const auto order = module_.constant(layout);
    if (!shape || stride == 0 || order < 0 || order > kColumnMajor) {
      return untraced(inst, "a cooperative matrix of a size or layout that is not known here");
    }
    Path path = paths_.of_pointer(id);
    if (!path.why.empty()) return untraced(inst, path.why);
    if (!path.root) return untraced(inst, "a cooperative matrix behind an unknown pointer");
    editor_.at(at);
    const std::uint32_t offset = emit_offset(path);
    const std::uint32_t pitch =
        editor_.emit(spv::OpIMul, editor_.uint_type(), {stride, editor_.constant(path.bytes)});
    const bool rows = order == kRowMajor;
    const std::uint32_t lines = rows ? shape->rows : shape->columns;
    const std::uint32_t line_bytes = (rows ? shape->columns : shape->rows) * shape->element_bytes;
    const std::uint32_t site = add_site(inst, *path.root, access, lines * line_bytes);
    out_.sites[site].matrix_lines = lines;
    out_.sites[site].matrix_line_bytes = line_bytes;
    functions_.call_record(site, offset, pitch);
  }

  std::uint32_t emit_offset(const Path& path) {
    const std::uint32_t uint_type = editor_.uint_type();
    std::uint32_t sum = editor_.constant(path.constant);
    for (const PathStep& step : path.steps) {
      std::uint32_t index = step.index;
      const ScalarType type = module_.scalar_of(module_.type_of(index));
      if (type.width != 32) {
        index =
            editor_.emit(type.is_signed ? spv::OpSConvert : spv::OpUConvert, uint_type, {index});
      }
      const std::uint32_t part =
          editor_.emit(spv::OpIMul, uint_type, {index, editor_.constant(step.stride)});
      sum = editor_.emit(spv::OpIAdd, uint_type, {sum, part});
    }
    return sum;
  }

  // `is_pointer`: `image` is a pointer to one, as of OpImageTexelPointer.
  void texel(std::size_t at, std::uint32_t image, std::uint32_t coordinate, Access access,
             bool is_pointer = false) {
    const ParsedInstruction& inst = module_.instructions[at];
    const auto root = paths_.of_image(image, is_pointer);
    if (!root) return untraced(inst, "an image that is chosen at run time");
    const std::uint32_t type = module_.type_of(coordinate);
    const ScalarType scalar = module_.scalar_of(type);
    const std::uint32_t lanes = module_.lanes_of(type);
    if (scalar.width != 32 || (scalar.is_float && lanes > 2)) {
      return untraced(inst, "coordinates of 16 bits, or three of a sampler");
    }
    editor_.at(at);
    std::uint32_t v[3];
    for (std::uint32_t k = 0; k < 3; ++k) {
      if (k >= lanes) {
        v[k] = editor_.constant(0);
        continue;
      }
      v[k] = coordinate;
      if (lanes > 1) {
        v[k] = editor_.emit(spv::OpCompositeExtract, module_.element_of(type), {coordinate, k});
      }
      if (scalar.is_float || scalar.is_signed) {
        v[k] = editor_.emit(spv::OpBitcast, editor_.uint_type(), {v[k]});
      }
    }
    std::uint32_t b = v[1];
    if (!scalar.is_float) {
      const std::uint32_t uint_type = editor_.uint_type();
      const std::uint32_t low =
          editor_.emit(spv::OpBitwiseAnd, uint_type, {v[1], editor_.constant(0xffff)});
      const std::uint32_t high =
          editor_.emit(spv::OpShiftLeftLogical, uint_type, {v[2], editor_.constant(16)});
      b = editor_.emit(spv::OpBitwiseOr, uint_type, {low, high});
    }
    Root seen = *root;
    seen.space = scalar.is_float ? Space::kSampled : Space::kImage;
    functions_.call_record(add_site(inst, seen, access, 0), v[0], b);
  }

  const ParsedModule& module_;
  ModuleEditor editor_;
  AccessPaths paths_;
  TraceFunctions functions_;
  Instrumented out_;
  std::uint32_t flops_ = 0, matrix_flops_ = 0;
};

}  // namespace

Result<Instrumented> instrument(const std::vector<std::uint32_t>& words) {
  const auto module = ParsedModule::parse(words);
  if (!module) return module.error();
  return Pass(*module).run();
}

}  // namespace spirkiln::access
