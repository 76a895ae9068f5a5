// SPDX-License-Identifier: Apache-2.0
#include "lying_modules.hpp"

#include <bit>
#include <map>

#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.hpp>

namespace spirkiln::test {
namespace {

constexpr std::size_t kHeaderWords = 5;

struct Type {
  spv::Op op;
  std::uint32_t a = 0, b = 0;  // element and count of vectors, width, storage class and type
};

class Liar {
 public:
  Liar(std::span<const std::uint32_t> words, Lie lie, LieWhere where)
      : in_(words), lie_(lie), where_(where), bound_(words[3]) {}

  std::optional<std::vector<std::uint32_t>> run() {
    read();
    if (lie_ != Lie::kFlush && invocation_ == 0) return std::nullopt;
    if (where_.spec_id != LieWhere::kEverywhere && spec_ == 0) return std::nullopt;
    std::vector<std::uint32_t> body;
    std::vector<std::uint32_t> out(in_.begin(), in_.begin() + kHeaderWords);
    bool in_functions = false;
    for (std::size_t at = kHeaderWords; at < in_.size(); at += in_[at] >> 16) {
      const auto op = static_cast<spv::Op>(in_[at] & 0xffff);
      const auto instruction = in_.subspan(at, in_[at] >> 16);
      in_functions = in_functions || op == spv::OpFunction;
      if (in_functions) {
        write(op, instruction, &body);
      } else {
        out.insert(out.end(), instruction.begin(), instruction.end());
      }
    }
    if (!lied_) return std::nullopt;
    out.insert(out.end(), globals_.begin(), globals_.end());
    out.insert(out.end(), body.begin(), body.end());
    out[3] = bound_;
    return out;
  }

 private:
  using Words = std::vector<std::uint32_t>;

  void read() {
    for (std::size_t at = kHeaderWords; at < in_.size(); at += in_[at] >> 16) {
      const auto op = static_cast<spv::Op>(in_[at] & 0xffff);
      const std::uint32_t* w = &in_[at];
      switch (op) {
        case spv::OpExtInstImport:
          glsl_ = w[1];
          break;
        case spv::OpDecorate:
          if (w[2] == spv::DecorationSpecId && w[3] == where_.spec_id) spec_ = w[1];
          // Any of these tells invocations apart.
          if (w[2] == spv::DecorationBuiltIn &&
              (w[3] == spv::BuiltInLocalInvocationId || w[3] == spv::BuiltInGlobalInvocationId ||
               w[3] == spv::BuiltInLocalInvocationIndex)) {
            invocation_ = w[1];
          }
          break;
        case spv::OpTypeBool:
          bool_ = w[1];
          break;
        case spv::OpTypeInt:
          types_[w[1]] = {op, w[2], w[3]};
          if (w[2] == 32 && w[3] == 0) uint_ = w[1];
          break;
        case spv::OpTypeFloat:
          types_[w[1]] = {op, w[2], 0};
          break;
        case spv::OpTypeVector:
          types_[w[1]] = {op, w[2], w[3]};
          break;
        case spv::OpTypePointer:
          types_[w[1]] = {op, w[2], w[3]};
          break;
        default:
          break;
      }
      const bool is_type = op >= spv::OpTypeVoid && op <= spv::OpTypeForwardPointer;
      if (!is_type && (in_[at] >> 16) > 2 && types_.contains(w[1])) type_of_[w[2]] = w[1];
    }
  }

  std::uint32_t fresh() { return bound_++; }
  static void put(Words* to, spv::Op op, std::initializer_list<std::uint32_t> operands) {
    to->push_back(static_cast<std::uint32_t>((operands.size() + 1) << 16 | op));
    to->insert(to->end(), operands);
  }

  std::uint32_t global(spv::Op op, std::uint32_t* id, std::initializer_list<std::uint32_t> rest) {
    if (*id != 0) return *id;
    *id = fresh();
    Words operands = {*id};
    operands.insert(operands.end(), rest);
    globals_.push_back(static_cast<std::uint32_t>((operands.size() + 1) << 16 | op));
    globals_.insert(globals_.end(), operands.begin(), operands.end());
    return *id;
  }
  std::uint32_t bool_type() { return global(spv::OpTypeBool, &bool_, {}); }
  std::uint32_t bool_vector(std::uint32_t count) {
    for (const auto& [id, t] : types_) {
      if (t.op == spv::OpTypeVector && t.a == bool_ && t.b == count && bool_ != 0) return id;
    }
    std::uint32_t id = 0;
    const std::uint32_t element = bool_type();
    global(spv::OpTypeVector, &id, {element, count});
    types_[id] = {spv::OpTypeVector, element, count};
    return id;
  }
  std::uint32_t constant(std::uint32_t type, std::uint32_t bits) {
    std::uint32_t& id = constants_[{type, bits}];
    if (id == 0) {
      id = fresh();
      put(&globals_, spv::OpConstant, {type, id, bits});
    }
    return id;
  }
  std::uint32_t null(std::uint32_t type) {
    std::uint32_t& id = nulls_[type];
    if (id == 0) {
      id = fresh();
      put(&globals_, spv::OpConstantNull, {type, id});
    }
    return id;
  }

  // A scalar or a vector of scalars, which OpSelect takes: the number of its lanes, else 0.
  std::uint32_t lanes(std::uint32_t type) const {
    const auto it = types_.find(type);
    if (it == types_.end()) return 0;
    if (it->second.op == spv::OpTypeVector) return it->second.b;
    return it->second.op == spv::OpTypeInt || it->second.op == spv::OpTypeFloat ? 1 : 0;
  }

  std::uint32_t select(Words* body, std::uint32_t type, std::uint32_t condition, std::uint32_t yes,
                       std::uint32_t no) {
    const std::uint32_t id = fresh();
    put(body, spv::OpSelect, {type, id, condition, yes, no});
    return id;
  }

  // Zeros in place of the value, in one invocation.
  std::uint32_t lie_in_lane(Words* body, std::uint32_t value) {
    const std::uint32_t type = type_of_.at(value), n = lanes(type);
    const std::uint32_t pointer_type = type_of_.at(invocation_);
    const std::uint32_t input = types_.at(pointer_type).b;
    std::uint32_t id = fresh();
    put(body, spv::OpLoad, {input, id, invocation_});
    if (types_.at(input).op == spv::OpTypeVector) {
      const std::uint32_t x = fresh();
      put(body, spv::OpCompositeExtract, {types_.at(input).a, x, id, 0});
      id = x;
    }
    const std::uint32_t scalar_type =
        types_.at(input).op == spv::OpTypeVector ? types_.at(input).a : input;
    std::uint32_t is_lane = fresh();
    const std::uint32_t boolean = bool_type();
    put(body, spv::OpIEqual,
        {boolean, is_lane, id, constant(scalar_type, lie_ == Lie::kOneLane ? 3 : 0)});
    if (spec_ != 0) {
      const std::uint32_t here = fresh(), both = fresh();
      put(body, spv::OpIEqual, {boolean, here, spec_, constant(type_of_.at(spec_), where_.value)});
      put(body, spv::OpLogicalAnd, {boolean, both, is_lane, here});
      is_lane = both;
    }
    if (n > 1) {
      const std::uint32_t all = fresh(), type_of_all = bool_vector(n);
      Words w = {type_of_all, all};
      w.insert(w.end(), n, is_lane);
      body->push_back(static_cast<std::uint32_t>((w.size() + 1) << 16 | spv::OpCompositeConstruct));
      body->insert(body->end(), w.begin(), w.end());
      is_lane = all;
    }
    lied_ = true;
    return select(body, type, is_lane, null(type), value);
  }

  // 0 in place of what is smaller than a normal half; `type` is of 32-bit floats.
  std::uint32_t flushed(Words* body, std::uint32_t type, std::uint32_t value) {
    const std::uint32_t n = lanes(type);
    const std::uint32_t scalar = n > 1 ? types_.at(type).a : type;
    std::uint32_t limit = constant(scalar, std::bit_cast<std::uint32_t>(0x1p-14f));
    if (n > 1) {
      std::uint32_t& all = splats_[type];
      if (all == 0) {
        all = fresh();
        Words w = {type, all};
        w.insert(w.end(), n, limit);
        globals_.push_back(
            static_cast<std::uint32_t>((w.size() + 1) << 16 | spv::OpConstantComposite));
        globals_.insert(globals_.end(), w.begin(), w.end());
      }
      limit = all;
    }
    const std::uint32_t size = fresh(), small = fresh();
    const std::uint32_t boolean = n > 1 ? bool_vector(n) : bool_type();
    put(body, spv::OpExtInst, {type, size, glsl_, GLSLstd450FAbs, value});
    put(body, spv::OpFOrdLessThan, {boolean, small, size, limit});
    lied_ = true;
    return select(body, type, small, null(type), value);
  }

  bool is_float32(std::uint32_t type) const {
    const auto it = types_.find(type);
    if (it == types_.end()) return false;
    if (it->second.op == spv::OpTypeVector) return is_float32(it->second.a);
    return it->second.op == spv::OpTypeFloat && it->second.a == 32;
  }

  bool is_output(std::uint32_t pointer) const {
    const auto type = type_of_.find(pointer);
    if (type == type_of_.end()) return false;
    const auto it = types_.find(type->second);
    return it != types_.end() && it->second.op == spv::OpTypePointer &&
           (it->second.a == spv::StorageClassUniform ||
            it->second.a == spv::StorageClassStorageBuffer);
  }

  void write(spv::Op op, std::span<const std::uint32_t> w, Words* body) {
    Words own(w.begin(), w.end());
    const auto lies = [&](std::size_t operand) {
      const auto type = type_of_.find(own[operand]);
      if (type == type_of_.end() || lanes(type->second) == 0) return;
      own[operand] = lie_in_lane(body, own[operand]);
    };
    if (lie_ != Lie::kFlush) {
      if (op == spv::OpStore && is_output(own[1])) lies(2);
      if (op == spv::OpImageWrite) lies(3);
    }
    // What halves become, and what becomes one: packed in a word, or by a conversion.
    const bool unpacks = op == spv::OpExtInst && own[4] == GLSLstd450UnpackHalf2x16;
    const bool packs = op == spv::OpExtInst && own[4] == GLSLstd450PackHalf2x16;
    const bool widens = op == spv::OpFConvert && is_float32(own[1]);
    const bool narrows = op == spv::OpFConvert && !widens;
    if (lie_ == Lie::kFlush && glsl_ != 0) {
      const std::size_t operand = packs ? 5 : 3;
      if (packs || narrows) {
        const auto type = type_of_.find(own[operand]);
        if (type != type_of_.end() && is_float32(type->second)) {
          own[operand] = flushed(body, type->second, own[operand]);
        }
      }
      if (unpacks || widens) {
        // The result keeps its id, so that nothing else has to change.
        const std::uint32_t type = own[1], result = own[2], raw = fresh();
        own[2] = raw;
        body->insert(body->end(), own.begin(), own.end());
        const std::uint32_t small = flushed(body, type, raw);
        put(body, spv::OpCopyObject, {type, result, small});
        return;
      }
    }
    body->insert(body->end(), own.begin(), own.end());
  }

  std::span<const std::uint32_t> in_;
  Lie lie_;
  LieWhere where_;
  std::uint32_t spec_ = 0;  // the constant of `where_`
  std::uint32_t bound_;
  std::uint32_t glsl_ = 0, invocation_ = 0, bool_ = 0, uint_ = 0;
  std::map<std::uint32_t, Type> types_;
  std::map<std::uint32_t, std::uint32_t> type_of_;  // of results
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> constants_;
  std::map<std::uint32_t, std::uint32_t> nulls_, splats_;
  Words globals_;
  bool lied_ = false;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> lying(std::span<const std::uint32_t> words, Lie lie,
                                                LieWhere where) {
  return Liar(words, lie, where).run();
}

}  // namespace spirkiln::test
