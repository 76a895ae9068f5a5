// SPDX-License-Identifier: Apache-2.0
#include "table/module_coding.hpp"

#include <cstring>
#include <string>

#include "spirkiln/table_format.hpp"

namespace spirkiln {
namespace {

using table::OperandKind;

constexpr std::uint32_t kSpirvMagic = 0x07230203;
constexpr std::size_t kHeaderWords = 5;
constexpr std::uint32_t kMaxId = 0x3fffff;  // SPIR-V's universal limit

Error corrupt(const char* what) { return Error{ErrorCode::kCorrupt, what}; }

// Reads past the end give zeros and are noticed by `good`.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  std::uint32_t number() {
    std::uint32_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      if (at_ == end_) return fail();
      const auto byte = static_cast<std::uint32_t>(*at_++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return fail();
  }
  std::uint32_t word() {
    std::uint32_t value = 0;
    if (end_ - at_ < 4) return fail();
    std::memcpy(&value, at_, 4);
    at_ += 4;
    return value;
  }
  std::span<const std::byte> bytes(std::size_t count) {
    if (count > left()) return fail(), std::span<const std::byte>{};
    at_ += count;
    return {at_ - count, count};
  }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  bool good() const { return good_; }

 private:
  std::uint32_t fail() {
    good_ = false;
    at_ = end_;
    return 0;
  }

  const std::byte* at_;
  const std::byte* end_;
  bool good_ = true;
};

std::int32_t from_zigzag(std::uint32_t value) {
  return static_cast<std::int32_t>((value >> 1) ^ (0u - (value & 1)));
}

}  // namespace

Result<CodingDictionary> CodingDictionary::parse(std::span<const std::byte> coded) {
  CodingDictionary out;
  Reader in(coded);
  const std::uint32_t shape_count = in.number();
  if (shape_count > in.left()) return corrupt("the number of shapes");
  for (std::uint32_t i = 0; i < shape_count; ++i) {
    const std::uint32_t opcode = in.number();
    const std::uint32_t operands = in.number();
    if (opcode > 0xffff || operands >= 0xffff) return corrupt("a shape");
    const auto first = static_cast<std::uint32_t>(out.kinds_.size());
    int results = 0;
    for (const std::byte b : in.bytes(operands)) {
      const auto kind = static_cast<std::uint8_t>(b);
      if (kind > static_cast<std::uint8_t>(OperandKind::kRaw)) return corrupt("an operand's kind");
      if (kind == static_cast<std::uint8_t>(OperandKind::kResult)) ++results;
      out.kinds_.push_back(kind);
    }
    if (!in.good() || results > 1) return corrupt("a shape");
    out.shapes_.push_back(
        {static_cast<std::uint16_t>(opcode), static_cast<std::uint16_t>(operands), first});
  }
  const std::uint32_t global_count = in.number();
  if (global_count > in.left()) return corrupt("the number of globals");
  for (std::uint32_t g = 0; g < global_count; ++g) {
    const std::uint32_t shape = in.number();
    if (shape >= out.shapes_.size()) return corrupt("a global's shape");
    const Shape& s = out.shapes_[shape];
    out.globals_.push_back({shape, static_cast<std::uint32_t>(out.values_.size())});
    bool has_result = false;
    for (std::uint32_t o = 0; o < s.operands; ++o) {
      std::uint32_t value = 0;
      switch (static_cast<OperandKind>(out.kinds_[s.first_kind + o])) {
        case OperandKind::kResult:
          has_result = true;
          break;
        case OperandKind::kId: {
          const std::uint32_t back = in.number();
          if (back == 0 || back > g) return corrupt("a global's operand");
          value = g - back;
          break;
        }
        case OperandKind::kNumber:
          value = in.number();
          break;
        case OperandKind::kRaw:
          value = in.word();
          break;
      }
      // Each operand takes a byte, so that the values stay in proportion to the input.
      if (!in.good()) return corrupt("it ends inside a global");
      out.values_.push_back(value);
    }
    if (!has_result) return corrupt("a global without a result");
  }
  if (!in.good() || in.left() != 0) return corrupt("its length");
  return out;
}

// One module on its way back. Ids: the module's globals are 1, 2, ... in their order, every other
// result takes the next number.
class ModuleDecoder {
 public:
  ModuleDecoder(const CodingDictionary& dictionary, std::span<const std::byte> coded,
                std::span<std::uint32_t> words)
      : dictionary_(dictionary), in_(coded), words_(words) {}

  Status run() {
    if (words_.size() < kHeaderWords) return corrupt("a module shorter than its header");
    words_[0] = kSpirvMagic;
    words_[1] = in_.number();
    words_[2] = in_.number();
    words_[4] = 0;
    at_ = kHeaderWords;
    if (auto s = read_globals(); !s) return s;
    while (in_.left() != 0) {
      const std::uint32_t code = in_.number();
      const Status s = code == 0 ? copy_globals(in_.number()) : instruction(code - 1);
      if (!s) return s;
    }
    if (!in_.good() || next_global_ != listed_.size()) return corrupt("a module that ends early");
    if (at_ != words_.size()) return corrupt("a module of another length");
    if (largest_ > last_id_) return corrupt("an id without a definition");
    words_[3] = last_id_ + 1;
    return Ok{};
  }

 private:
  Status read_globals() {
    const std::uint32_t count = in_.number();
    if (count > in_.left() || count > kMaxId) return corrupt("the number of a module's globals");
    listed_.reserve(count);
    ids_.resize(dictionary_.globals_.size());
    std::uint32_t previous = 0xffffffffu;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t g = previous + 1 + static_cast<std::uint32_t>(from_zigzag(in_.number()));
      if (g >= ids_.size() || ids_[g] != 0) return corrupt("a module's global");
      ids_[g] = i + 1;
      listed_.push_back(g);
      previous = g;
    }
    last_id_ = count;
    return Ok{};
  }

  // Room for the instruction's words, or null.
  std::uint32_t* begin(const CodingDictionary::Shape& shape) {
    const std::size_t count = std::size_t{shape.operands} + 1;
    if (count > words_.size() - at_) return nullptr;
    std::uint32_t* to = words_.data() + at_;
    at_ += count;
    *to = static_cast<std::uint32_t>(count << 16) | shape.opcode;
    return to + 1;
  }

  Status copy_globals(std::uint32_t count) {
    if (count == 0 || count > listed_.size() - next_global_) return corrupt("a run of globals");
    for (; count != 0; --count) {
      const std::uint32_t g = listed_[next_global_++];
      const CodingDictionary::Global& global = dictionary_.globals_[g];
      const CodingDictionary::Shape& shape = dictionary_.shapes_[global.shape];
      std::uint32_t* to = begin(shape);
      if (to == nullptr) return corrupt("a module of another length");
      for (std::uint32_t o = 0; o < shape.operands; ++o) {
        const std::uint32_t value = dictionary_.values_[global.first_value + o];
        switch (kind(shape, o)) {
          case OperandKind::kResult:
            to[o] = ids_[g];
            break;
          case OperandKind::kId:
            if (ids_[value] == 0) return corrupt("a global that the module does not list");
            to[o] = ids_[value];
            break;
          default:
            to[o] = value;
        }
      }
    }
    return Ok{};
  }

  Status instruction(std::uint32_t index) {
    if (index >= dictionary_.shapes_.size()) return corrupt("an instruction's shape");
    const CodingDictionary::Shape& shape = dictionary_.shapes_[index];
    std::uint32_t* to = begin(shape);
    if (to == nullptr) return corrupt("a module of another length");
    const std::uint32_t before = last_id_;
    for (std::uint32_t o = 0; o < shape.operands; ++o) {
      switch (kind(shape, o)) {
        case OperandKind::kResult:
          if (last_id_ >= kMaxId) return corrupt("too many ids");
          to[o] = ++last_id_;
          break;
        case OperandKind::kId: {
          const std::uint32_t code = in_.number();
          const std::uint32_t rest = code >> 1;
          if ((code & 1) != 0) {
            if (rest >= ids_.size() || ids_[rest] == 0) return corrupt("an operand's global");
            to[o] = ids_[rest];
          } else {
            to[o] = before - static_cast<std::uint32_t>(from_zigzag(rest));
            if (to[o] == 0 || to[o] > kMaxId) return corrupt("an operand's id");
            if (to[o] > largest_) largest_ = to[o];
          }
          break;
        }
        case OperandKind::kNumber:
          to[o] = in_.number();
          break;
        case OperandKind::kRaw:
          to[o] = in_.word();
          break;
      }
    }
    return in_.good() ? Status{Ok{}} : corrupt("a module that ends inside an instruction");
  }

  OperandKind kind(const CodingDictionary::Shape& shape, std::uint32_t operand) const {
    return static_cast<OperandKind>(dictionary_.kinds_[shape.first_kind + operand]);
  }

  const CodingDictionary& dictionary_;
  Reader in_;
  std::span<std::uint32_t> words_;
  std::size_t at_ = 0;
  std::vector<std::uint32_t> listed_;  // the module's globals in their order
  std::vector<std::uint32_t> ids_;     // of each global of the dictionary, 0 = not listed
  std::size_t next_global_ = 0;
  std::uint32_t last_id_ = 0;
  std::uint32_t largest_ = 0;
};

Status CodingDictionary::decode(std::span<const std::byte> coded,
                                std::span<std::uint32_t> words) const {
  return ModuleDecoder(*this, coded, words).run();
}

}  // namespace spirkiln
