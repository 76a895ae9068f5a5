// SPDX-License-Identifier: Apache-2.0
#include "table/module_reader.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace spirkiln {
namespace {

using namespace table;
using Words = std::span<const std::uint32_t>;

// Numbers of the SPIR-V specification.
constexpr std::uint32_t kMagic = 0x07230203;
constexpr std::size_t kHeaderWords = 5;
constexpr unsigned kMaxDepth = 64;
// A type may name another one twice, and that one a third: depth alone bounds no time.
constexpr unsigned kMaxSteps = 1u << 20;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;

enum Op : std::uint16_t {
  kOpName = 5,
  kOpExtension = 10,
  kOpEntryPoint = 15,
  kOpExecutionMode = 16,
  kOpCapability = 17,
  kOpTypeBool = 20,
  kOpTypeInt = 21,
  kOpTypeFloat = 22,
  kOpTypeVector = 23,
  kOpTypeMatrix = 24,
  kOpTypeImage = 25,
  kOpTypeSampledImage = 27,
  kOpTypeArray = 28,
  kOpTypeRuntimeArray = 29,
  kOpTypeStruct = 30,
  kOpTypePointer = 32,
  kOpConstantTrue = 41,
  kOpConstantFalse = 42,
  kOpConstant = 43,
  kOpConstantComposite = 44,
  kOpSpecConstantTrue = 48,
  kOpSpecConstantFalse = 49,
  kOpSpecConstant = 50,
  kOpSpecConstantComposite = 51,
  kOpSpecConstantOp = 52,
  kOpFunction = 54,
  kOpVariable = 59,
  kOpDecorate = 71,
  kOpMemberDecorate = 72,
  kOpCompositeExtract = 81,
  kOpIAdd = 128,
  kOpISub = 130,
  kOpIMul = 132,
  kOpUDiv = 134,
  kOpUMod = 137,
  kOpSelect = 169,
  kOpUGreaterThan = 172,
  kOpShiftRightLogical = 194,
  kOpShiftLeftLogical = 196,
  kOpBitwiseOr = 197,
  kOpBitwiseXor = 198,
  kOpBitwiseAnd = 199,
  kOpExecutionModeId = 331,
};
enum Decoration : std::uint32_t {
  kSpecId = 1,
  kBufferBlock = 3,
  kArrayStride = 6,
  kMatrixStride = 7,
  kBuiltIn = 11,
  kNonWritable = 24,
  kNonReadable = 25,
  kBindingNumber = 33,
  kDescriptorSet = 34,
  kOffset = 35,
};
constexpr std::uint32_t kBuiltInWorkgroupSize = 25;
constexpr std::uint32_t kModeLocalSize = 17, kModeLocalSizeId = 38;
constexpr std::uint32_t kGlCompute = 5;
enum StorageClass : std::uint32_t {
  kUniformConstant = 0,
  kUniform = 2,
  kWorkgroup = 4,
  kPushConstant = 9,
  kStorageBufferClass = 12,
};

Error broken(const char* what) {
  return Error{ErrorCode::kCorrupt, std::string("the words are no SPIR-V module: ") + what};
}
Error refused(std::string what) { return Error{ErrorCode::kUnsupported, std::move(what)}; }

// Operands of an instruction that is looked into, at least.
std::size_t least_operands(std::uint16_t op) {
  switch (op) {
    case kOpName:
    case kOpExtension:
    case kOpCapability:
    case kOpTypeBool:
    case kOpTypeStruct:
      return 1;
    case kOpExecutionMode:
    case kOpExecutionModeId:
    case kOpTypeFloat:
    case kOpTypeSampledImage:
    case kOpTypeRuntimeArray:
    case kOpConstantTrue:
    case kOpConstantFalse:
    case kOpConstantComposite:
    case kOpSpecConstantTrue:
    case kOpSpecConstantFalse:
    case kOpSpecConstantComposite:
    case kOpDecorate:
      return 2;
    case kOpEntryPoint:
    case kOpTypeInt:
    case kOpTypeVector:
    case kOpTypeMatrix:
    case kOpTypeArray:
    case kOpTypePointer:
    case kOpConstant:
    case kOpSpecConstant:
    case kOpSpecConstantOp:
    case kOpVariable:
    case kOpMemberDecorate:
      return 3;
    case kOpTypeImage:
      return 8;
    default:
      return 0;
  }
}

// The operand with the result's id, or -1 where the instruction is no type, constant or variable.
int result_of(std::uint16_t op) {
  if (op >= kOpTypeBool && op <= kOpTypePointer) return 0;
  if (op >= kOpConstantTrue && op <= kOpSpecConstantOp) return 1;
  return op == kOpVariable ? 1 : -1;
}

std::string text_of(Words words) {
  std::string text;
  for (const std::uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) {
      const char c = static_cast<char>((word >> shift) & 0xff);
      if (c == '\0') return text;
      text += c;
    }
  }
  return text;
}

class Reader {
 public:
  Reader(Words words, std::span<const ModuleValue> values) : words_(words) {
    for (const ModuleValue& v : values) values_[v.id] = v.bits;
  }

  Result<ModuleInfo> run() {
    for (const auto step : {&Reader::split, &Reader::heads, &Reader::constants, &Reader::variables,
                            &Reader::local_size, &Reader::merge}) {
      if (auto s = (this->*step)(); !s) return std::move(s).error();
    }
    return std::move(out_);
  }

 private:
  struct Instruction {
    std::uint16_t op = 0;
    Words operands;
    std::size_t at = 0;  // of its first word
  };

  // Up to the first function: everything that is asked for stands before it.
  Status split() {
    if (words_.size() < kHeaderWords || words_[0] != kMagic) return broken("no magic number");
    out_.spirv_version = words_[1];
    for (std::size_t at = kHeaderWords; at < words_.size();) {
      const std::size_t count = words_[at] >> 16;
      const auto op = static_cast<std::uint16_t>(words_[at] & 0xffff);
      if (count == 0 || count > words_.size() - at) return broken("an instruction past the end");
      if (op == kOpFunction) break;
      const Instruction i{op, words_.subspan(at + 1, count - 1), at};
      if (i.operands.size() < least_operands(op)) return broken("an instruction is too short");
      if (const int result = result_of(op);
          result >= 0 && i.operands.size() > static_cast<std::size_t>(result)) {
        by_id_[i.operands[static_cast<std::size_t>(result)]] = all_.size();
      }
      const auto& o = i.operands;
      if (op == kOpName) names_[o[0]] = text_of(o.subspan(1));
      if (op == kOpDecorate) decorations_[key(o[0], o[1])] = o.size() > 2 ? o[2] : 0;
      if (op == kOpMemberDecorate && o[1] < 0xffff && o[2] < 0xffff) {
        members_[key(o[0], o[1] << 16 | o[2])] = o.size() > 3 ? o[3] : 0;
      }
      all_.push_back(i);
      at += count;
    }
    return Ok{};
  }

  Status heads() {
    unsigned entries = 0;
    for (const Instruction& i : all_) {
      const auto& o = i.operands;
      if (i.op == kOpCapability) out_.capabilities.push_back(o[0]);
      if (i.op == kOpExtension) out_.extensions.push_back(text_of(o));
      if (i.op != kOpEntryPoint) continue;
      ++entries;
      if (o[0] != kGlCompute) return refused("the module's entry point is no compute shader");
      out_.entry = text_of(o.subspan(2));
    }
    if (entries != 1) return refused("the module has not exactly one entry point");
    std::sort(out_.capabilities.begin(), out_.capabilities.end());
    const auto same = std::unique(out_.capabilities.begin(), out_.capabilities.end());
    out_.capabilities.erase(same, out_.capabilities.end());
    return Ok{};
  }

  Status constants() {
    for (const Instruction& i : all_) {
      const bool is_bool = i.op == kOpSpecConstantTrue || i.op == kOpSpecConstantFalse;
      if (!is_bool && i.op != kOpSpecConstant) continue;
      const auto id = decoration(i.operands[1], kSpecId);
      if (!id) continue;
      ModuleConstant c;
      c.id = *id;
      c.name = name(i.operands[1]);
      if (is_bool) {
        c.type = SpecType::kBool;
        c.default_bits = i.op == kOpSpecConstantTrue ? 1 : 0;
      } else if (const Instruction* type = find(i.operands[0]);
                 type != nullptr && type->operands.size() > 1 && type->operands[1] == 32) {
        c.type = type->op == kOpTypeFloat     ? SpecType::kFloat
                 : type->operands.back() == 0 ? SpecType::kUint
                                              : SpecType::kInt;
        c.default_bits = i.operands[2];
      }
      out_.constants.push_back(std::move(c));
    }
    std::sort(out_.constants.begin(), out_.constants.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    for (std::size_t i = 1; i < out_.constants.size(); ++i) {
      if (out_.constants[i].id == out_.constants[i - 1].id) {
        return refused("two specialization constants have the id " +
                       std::to_string(out_.constants[i].id));
      }
    }
    return Ok{};
  }

  Status variables() {
    out_.shared_bytes = 0;
    for (const Instruction& i : all_) {
      if (i.op != kOpVariable) continue;
      const Instruction* pointer = find(i.operands[0]);
      if (pointer == nullptr || pointer->op != kOpTypePointer) {
        return broken("a variable is of no pointer type");
      }
      const std::uint32_t type = pointer->operands[2];
      switch (i.operands[2]) {
        case kUniformConstant:
        case kUniform:
        case kStorageBufferClass:
          if (auto s = binding(i, type); !s) return s;
          break;
        case kPushConstant: {
          const auto bytes = size_of(type, false);
          if (!bytes || *bytes > 0xffff) return refused("push constants of unknown size");
          // Blocks of vectors may end between words; ranges of push constants may not.
          const auto whole = static_cast<std::uint32_t>((*bytes + 3) / 4 * 4);
          out_.push_bytes = std::max(out_.push_bytes, whole);
          break;
        }
        case kWorkgroup:
          if (const auto bytes = size_of(type, true); bytes && out_.shared_bytes) {
            out_.shared_bytes = (*out_.shared_bytes + 15) / 16 * 16 + *bytes;
          } else {
            out_.shared_bytes.reset();
          }
          break;
        default:
          break;
      }
    }
    return Ok{};
  }

  Status binding(const Instruction& variable, std::uint32_t type) {
    const std::uint32_t id = variable.operands[1];
    const Instruction* is = find(type);
    const auto number = decoration(id, kBindingNumber);
    if (is == nullptr) return broken("a resource of no type");
    if (!number) return refused("a resource without layout(binding = ...)");
    const std::uint32_t set = decoration(id, kDescriptorSet).value_or(0);
    const std::string at = "set " + std::to_string(set) + " binding " + std::to_string(*number);
    if (*number > 0xffff || set > 0xff) return refused(at + " is beyond what can be bound");
    ModuleBinding b;
    b.entry.set = static_cast<std::uint16_t>(set);
    b.entry.binding = static_cast<std::uint16_t>(*number);
    b.name = name(id).empty() ? name(type) : name(id);
    bool read_only = decoration(id, kNonWritable).has_value();
    bool write_only = decoration(id, kNonReadable).has_value();
    if (is->op == kOpTypeStruct) {
      const bool storage =
          variable.operands[2] == kStorageBufferClass || decoration(type, kBufferBlock).has_value();
      b.entry.kind = storage ? BindingKind::kStorageBuffer : BindingKind::kUniformBuffer;
      const std::size_t members = is->operands.size() - 1;
      bool all_read = members > 0, all_written = members > 0;
      for (std::size_t m = 0; m < members; ++m) {
        all_read = all_read && member(type, m, kNonWritable);
        all_written = all_written && member(type, m, kNonReadable);
      }
      read_only = read_only || all_read || !storage;
      write_only = write_only || all_written;
      b.min_bytes = size_of(type, false).value_or(1);
    } else if (is->op == kOpTypeSampledImage || is->op == kOpTypeImage) {
      const Instruction* image = is->op == kOpTypeImage ? is : find(is->operands[1]);
      if (image == nullptr || image->op != kOpTypeImage) return broken("a sampler of no image");
      const auto& o = image->operands;
      if (is->op == kOpTypeImage && o[6] != 2) {
        return refused(at + " is an image without its sampler, which cannot be bound");
      }
      if (o[2] > 2 || o[4] != 0 || o[5] != 0) {
        return refused(at + " is no plain image of one, two or three dimensions");
      }
      b.entry.kind =
          is->op == kOpTypeImage ? BindingKind::kStorageImage : BindingKind::kSampledImage;
      read_only = read_only || is->op == kOpTypeSampledImage;
      b.image = {o[2] + 1, o[7]};
    } else {
      return refused(at + " is neither a buffer, a storage image nor a sampled image by itself");
    }
    b.entry.flags =
        static_cast<std::uint16_t>((read_only ? kReadOnly : 0) | (write_only ? kWriteOnly : 0));
    out_.bindings.push_back(std::move(b));
    return Ok{};
  }

  // The constant WorkgroupSize, where there is one, has precedence over the execution mode.
  Status local_size() {
    Words ids;
    for (const Instruction& i : all_) {
      const auto& o = i.operands;
      if (i.op == kOpExecutionMode && o[1] == kModeLocalSize && o.size() == 5) {
        std::copy_n(o.begin() + 2, 3, out_.local_size.begin());
        out_.local_size_word = i.at + 3;
      }
      const bool by_mode = i.op == kOpExecutionModeId && o[1] == kModeLocalSizeId && o.size() == 5;
      const bool by_constant = (i.op == kOpConstantComposite || i.op == kOpSpecConstantComposite) &&
                               decoration(o[1], kBuiltIn) == kBuiltInWorkgroupSize && o.size() == 5;
      if (by_mode || by_constant) ids = o.subspan(2);
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      out_.local_size_word = 0;
      out_.local_size[i] = evaluate(ids[i]).value_or(1);
      const Instruction* c = find(ids[i]);
      if (c != nullptr && c->op == kOpSpecConstant) {
        out_.local_size_id[i] = decoration(ids[i], kSpecId).value_or(kNone);
      }
    }
    for (const std::uint32_t size : out_.local_size) {
      if (size == 0 || size > 65536) return refused("the module has a local size of 0");
    }
    return Ok{};
  }

  // Two blocks may view one buffer through one binding, say as scalars and as vectors.
  Status merge() {
    auto& all = out_.bindings;
    const auto place = [](const ModuleBinding& b) {
      return std::pair(b.entry.set, b.entry.binding);
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& a, const auto& b) { return place(a) < place(b); });
    std::vector<ModuleBinding> merged;
    for (ModuleBinding& b : all) {
      if (merged.empty() || place(merged.back()) != place(b)) {
        merged.push_back(std::move(b));
        continue;
      }
      ModuleBinding& m = merged.back();
      if (m.entry.kind != b.entry.kind || !(m.image == b.image)) {
        return refused("set " + std::to_string(b.entry.set) + " binding " +
                       std::to_string(b.entry.binding) + " is declared as two kinds of resource");
      }
      m.entry.flags &= b.entry.flags;
      m.min_bytes = std::max(m.min_bytes, b.min_bytes);
    }
    all = std::move(merged);
    return Ok{};
  }

  static std::uint64_t key(std::uint32_t id, std::uint32_t what) {
    return std::uint64_t{id} << 32 | what;
  }
  const Instruction* find(std::uint32_t id) const {
    const auto it = by_id_.find(id);
    return it != by_id_.end() ? &all_[it->second] : nullptr;
  }
  std::string name(std::uint32_t id) const {
    const auto it = names_.find(id);
    return it != names_.end() ? it->second : std::string();
  }
  std::optional<std::uint32_t> decoration(std::uint32_t id, std::uint32_t what) const {
    const auto it = decorations_.find(key(id, what));
    return it != decorations_.end() ? std::optional(it->second) : std::nullopt;
  }
  std::optional<std::uint32_t> member(std::uint32_t type, std::size_t index,
                                      std::uint32_t what) const {
    if (index >= 0xffff) return std::nullopt;
    const auto it = members_.find(key(type, static_cast<std::uint32_t>(index) << 16 | what));
    return it != members_.end() ? std::optional(it->second) : std::nullopt;
  }

  // A constant of 32 bits; nothing for what is made by other operations than arrays' lengths are.
  std::optional<std::uint32_t> evaluate(std::uint32_t id, unsigned depth = 0) const {
    const Instruction* c = find(id);
    if (c == nullptr || depth > kMaxDepth || ++steps_ > kMaxSteps) return std::nullopt;
    if (c->op == kOpConstant) return c->operands[2];
    if (c->op == kOpSpecConstant) {
      const auto spec = decoration(id, kSpecId);
      const auto given = spec ? values_.find(*spec) : values_.end();
      return given != values_.end() ? given->second : c->operands[2];
    }
    if (c->op != kOpSpecConstantOp) return std::nullopt;
    if (c->operands.size() == 6 && c->operands[2] == kOpSelect) {  // the larger of two
      const auto first = evaluate(c->operands[3], depth + 1);
      return first ? evaluate(c->operands[*first != 0 ? 4 : 5], depth + 1) : std::nullopt;
    }
    if (c->operands.size() != 5) return std::nullopt;
    if (c->operands[2] == kOpCompositeExtract) {
      const Instruction* whole = find(c->operands[3]);
      const std::size_t at = 2 + std::size_t{c->operands[4]};
      const bool composite = whole != nullptr && (whole->op == kOpConstantComposite ||
                                                  whole->op == kOpSpecConstantComposite);
      if (!composite || at >= whole->operands.size()) return std::nullopt;
      return evaluate(whole->operands[at], depth + 1);
    }
    const auto a = evaluate(c->operands[3], depth + 1), b = evaluate(c->operands[4], depth + 1);
    if (!a || !b) return std::nullopt;
    switch (c->operands[2]) {
      case kOpIAdd:
        return *a + *b;
      case kOpISub:
        return *a - *b;
      case kOpIMul:
        return *a * *b;
      case kOpUDiv:
        return *b != 0 ? std::optional(*a / *b) : std::nullopt;
      case kOpUMod:
        return *b != 0 ? std::optional(*a % *b) : std::nullopt;
      case kOpUGreaterThan:
        return *a > *b ? 1 : 0;
      case kOpShiftRightLogical:
        return *b < 32 ? *a >> *b : 0;
      case kOpShiftLeftLogical:
        return *b < 32 ? *a << *b : 0;
      case kOpBitwiseOr:
        return *a | *b;
      case kOpBitwiseXor:
        return *a ^ *b;
      case kOpBitwiseAnd:
        return *a & *b;
      default:
        return std::nullopt;
    }
  }

  // Of an array without a length: one element of it.
  std::optional<std::uint64_t> size_of(std::uint32_t type, bool shared, unsigned depth = 0) const {
    const Instruction* t = find(type);
    if (t == nullptr || depth > kMaxDepth || ++steps_ > kMaxSteps) return std::nullopt;
    const auto& o = t->operands;
    switch (t->op) {
      case kOpTypeBool:
        return 4;
      case kOpTypeInt:
      case kOpTypeFloat:
        return o[1] / 8;
      case kOpTypeVector:
      case kOpTypeMatrix: {
        const auto part = size_of(o[1], shared, depth + 1);
        if (!part || o[2] > 16) return std::nullopt;
        const bool padded = t->op == kOpTypeMatrix && *part % 3 == 0;
        return (padded ? *part / 3 * 4 : *part) * o[2];
      }
      case kOpTypeRuntimeArray:
        return size_of(o[1], shared, depth + 1);
      case kOpTypeArray: {
        const auto part = size_of(o[1], shared, depth + 1);
        const auto length = evaluate(o[2]);
        if (!part || !length) return std::nullopt;
        const Instruction* of = find(o[1]);
        const bool padded = of != nullptr && of->op == kOpTypeVector && of->operands[2] == 3;
        const std::uint64_t stride =
            decoration(o[0], kArrayStride)
                .value_or(static_cast<std::uint32_t>(padded ? *part / 3 * 4 : *part));
        if (stride != 0 && *length > kMaxBytes / stride) return std::nullopt;
        return stride * *length;
      }
      case kOpTypeStruct:
        return size_of_struct(*t, shared, depth);
      default:
        return std::nullopt;
    }
  }

  std::optional<std::uint64_t> size_of_struct(const Instruction& t, bool shared,
                                              unsigned depth) const {
    const auto& o = t.operands;
    std::uint64_t end = 0;
    for (std::size_t m = 0; m + 1 < o.size(); ++m) {
      auto size = size_of(o[m + 1], shared, depth + 1);
      if (!size) return std::nullopt;
      const Instruction* of = find(o[m + 1]);
      if (const auto stride = member(o[0], m, kMatrixStride); stride && of->op == kOpTypeMatrix) {
        size = std::uint64_t{*stride} * of->operands[2];
      }
      if (const auto offset = member(o[0], m, kOffset)) {
        end = std::max(end, *offset + *size);
      } else if (shared) {
        // Drivers count padding; 16 bytes is the widest natural alignment.
        const std::uint64_t align = *size >= 16 ? 16 : *size >= 8 ? 8 : *size >= 4 ? 4 : 2;
        end = (end + align - 1) / align * align + *size;
      } else {
        return std::nullopt;
      }
      if (end > kMaxBytes) return std::nullopt;
    }
    return end;
  }

  Words words_;
  std::unordered_map<std::uint32_t, std::uint32_t> values_;  // by SpecId
  std::vector<Instruction> all_;
  std::unordered_map<std::uint32_t, std::size_t> by_id_;
  std::unordered_map<std::uint32_t, std::string> names_;
  std::unordered_map<std::uint64_t, std::uint32_t> decorations_;  // by id and decoration
  std::unordered_map<std::uint64_t, std::uint32_t> members_;  // by type, member and decoration
  mutable unsigned steps_ = 0;
  ModuleInfo out_;
};

}  // namespace

Result<ModuleInfo> read_module(Words words, std::span<const ModuleValue> values) {
  return Reader(words, values).run();
}

}  // namespace spirkiln
