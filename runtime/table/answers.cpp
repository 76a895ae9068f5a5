// SPDX-License-Identifier: Apache-2.0
#include "table/answers.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace spirkiln {
namespace {

constexpr std::uint32_t kMaxText = 256;
constexpr std::uint32_t kMaxNamed = 64;  // axes and constants

// PCG's output permutation (RXS-M-XS) over a counter.
std::uint32_t hash(std::uint32_t seed, std::uint32_t i) {
  const std::uint32_t state = (i + seed * 0x9e3779b9u) * 747796405u + 2891336453u;
  const std::uint32_t word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
  return (word >> 22) ^ word;
}

// Reads past the end give zeros and are noticed by `good`.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : all_(bytes) {}

  std::uint32_t number() {
    std::uint32_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const std::uint32_t b = byte();
      value |= (b & 0x7f) << shift;
      if (b < 0x80) return value;
    }
    good_ = false;
    return 0;
  }
  std::uint32_t byte() {
    const auto taken = take(1);
    return taken.empty() ? 0 : static_cast<std::uint32_t>(taken[0]);
  }
  std::uint32_t word() {
    std::uint32_t value = 0;
    if (const auto taken = take(4); !taken.empty()) std::memcpy(&value, taken.data(), 4);
    return value;
  }
  float real() { return std::bit_cast<float>(word()); }
  std::string string() {
    const std::uint32_t size = number();
    if (size > kMaxText) good_ = false;
    const auto taken = take(good_ ? size : 0);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  std::span<const std::byte> take(std::size_t count) {
    if (count > all_.size() - at_) {
      good_ = false;
      at_ = all_.size();
      return {};
    }
    at_ += count;
    return all_.subspan(at_ - count, count);
  }
  std::size_t at() const { return at_; }
  std::size_t left() const { return all_.size() - at_; }
  bool good() const { return good_; }

 private:
  std::span<const std::byte> all_;
  std::size_t at_ = 0;
  bool good_ = true;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes), in_(bytes) {}

  Result<DecodedAnswers> run() {
    DecodedAnswers out;
    for (std::uint32_t i = 0; in_.left() != 0; ++i) {
      if (i == kMaxAnswers) return corrupt("there are more than " + std::to_string(i));
      const std::size_t begin = in_.at();
      Answer& answer = out.answers.emplace_back();
      const char* fault = read(&answer);
      if (fault == nullptr && !in_.good()) fault = "it ends too early";
      if (fault != nullptr) return corrupt("answer " + std::to_string(i) + ": " + fault);
      out.hashes.push_back(XXH3_64bits(bytes_.data() + begin, in_.at() - begin));
    }
    return out;
  }

 private:
  static Error corrupt(const std::string& what) {
    return Error{ErrorCode::kCorrupt, "the known answers are damaged: " + what};
  }

  // All give what is wrong, or null.
  const char* read(Answer* a) {
    a->kernel = in_.string();
    if (!in_.good() || a->kernel.empty()) return "the kernel's name";
    const std::uint32_t axes = in_.number();
    if (axes > kMaxNamed) return "the number of axes";
    for (std::uint32_t i = 0; i < axes; ++i) {
      std::string axis = in_.string();
      a->axes.emplace_back(std::move(axis), in_.string());
    }
    const std::uint32_t flags = in_.number();
    if (flags > 1) return "flags";
    a->subnormal = flags != 0;
    a->subgroup = in_.number();
    std::uint64_t invocations = 1;
    for (std::uint32_t& size : a->local_size) {
      size = in_.number();
      if (size > 65536) return "the workgroup's size";
      invocations *= size == 0 ? 1 : size;
      if (invocations > kMaxAnswerInvocations) return "the workgroup's size";
    }
    for (std::uint32_t& groups : a->groups) {
      groups = in_.number();
      if (groups == 0 || groups > kMaxAnswerInvocations) return "the number of workgroups";
      invocations *= groups;
      if (invocations > kMaxAnswerInvocations) return "the number of workgroups";
    }
    const std::uint32_t constants = in_.number();
    if (constants > kMaxNamed) return "the number of constants";
    for (std::uint32_t i = 0; i < constants; ++i) {
      std::string name = in_.string();
      a->constants.emplace_back(std::move(name), in_.word());
    }
    const std::uint32_t words = in_.number();
    if (words > kMaxAnswerPushWords) return "the push constants";
    for (std::uint32_t i = 0; i < words; ++i) a->push.push_back(in_.word());
    const std::uint32_t buffers = in_.number();
    if (buffers > kMaxAnswerBuffers) return "the number of buffers";
    for (std::uint32_t i = 0; i < buffers; ++i) {
      if (const char* fault = read(&a->buffers.emplace_back()); fault != nullptr) return fault;
      for (std::uint32_t k = 0; k < i; ++k) {
        if (a->buffers[k].binding == a->buffers[i].binding) return "a binding that comes twice";
      }
    }
    if (const char* fault = read(&a->result); fault != nullptr) return fault;
    for (const AnswerBuffer& b : a->buffers) {
      if (b.binding != a->result.binding) continue;
      if (b.kind != a->result.kind || b.count != a->result.values.size()) {
        return "what the result's buffer begins with is of another size";
      }
    }
    if (class_without_proof(*a)) return "a tolerance that lets zeros pass";
    return nullptr;
  }

  const char* read_size(std::uint32_t* binding, AnswerKind* kind, std::uint32_t* count) {
    *binding = in_.number();
    if (*binding >= kMaxAnswerBuffers) return "a binding";
    const std::uint32_t k = in_.byte();
    if (k > static_cast<std::uint32_t>(AnswerKind::kBytes)) return "a buffer's kind";
    *kind = static_cast<AnswerKind>(k);
    *count = in_.number();
    values_ += *count;
    // Tensors and bytes are whole vectors and whole words.
    const std::uint32_t unit = *kind == AnswerKind::kFloat ? 1 : 4;
    if (*count == 0 || *count % unit != 0 || *count > kMaxAnswerValues ||
        values_ > kMaxAnswersValues) {
      return "a buffer's size";
    }
    return nullptr;
  }

  const char* read(AnswerBuffer* b) {
    if (const char* fault = read_size(&b->binding, &b->kind, &b->count); fault != nullptr) {
      return fault;
    }
    const std::uint32_t form = in_.byte();
    if (form > 1) return "how a buffer is filled";
    if (form == 1) {
      const bool bytes = b->kind == AnswerKind::kBytes;
      if (b->count > in_.left() / (bytes ? 1 : 4)) return "it ends too early";
      for (std::uint32_t i = 0; i < b->count; ++i) {
        b->values.push_back(bytes ? static_cast<float>(in_.byte()) : in_.real());
      }
      return nullptr;
    }
    AnswerSeed& s = b->seed;
    for (std::uint32_t* v : {&s.seed, &s.steps, &s.row, &s.used, &s.rows, &s.used_rows}) {
      *v = in_.number();
    }
    for (float* v : {&s.centre, &s.range, &s.rest}) *v = in_.real();
    if (s.steps == 0 || s.steps > (1u << 24) || s.row == 0 || s.rows == 0) return "a seed";
    if (!std::isfinite(s.centre) || !std::isfinite(s.range) || !std::isfinite(s.rest)) {
      return "a seed";
    }
    return nullptr;
  }

  const char* read(AnswerResult* r) {
    std::uint32_t count = 0;
    if (const char* fault = read_size(&r->binding, &r->kind, &count); fault != nullptr) {
      return fault;
    }
    r->scale = in_.real();
    r->bound = in_.real();
    bool finite = std::isfinite(r->scale) && std::isfinite(r->bound);
    for (float& t : r->tolerance) finite = std::isfinite(t = in_.real()) && finite;
    if (!finite) return "the result's numbers";
    const auto low = in_.take(count), high = in_.take(count);
    if (!in_.good()) return "it ends too early";
    r->values.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto bits = static_cast<std::uint32_t>(low[i]) | static_cast<std::uint32_t>(high[i])
                                                                 << 8;
      r->values[i] = static_cast<std::int16_t>(static_cast<std::uint16_t>(bits));
    }
    return nullptr;
  }

  std::span<const std::byte> bytes_;
  Reader in_;
  std::uint64_t values_ = 0;  // so far: a few bytes may name many
};

}  // namespace

float AnswerBuffer::value(std::uint32_t i) const {
  if (!values.empty()) return values[i];
  if (i % seed.row >= seed.used || i / seed.row % seed.rows >= seed.used_rows) return seed.rest;
  const std::uint32_t h = hash(seed.seed, i);
  if (kind == AnswerKind::kBytes) return static_cast<float>(h >> 24);
  const std::int64_t k = std::int64_t{h % (2 * seed.steps + 1)} - std::int64_t{seed.steps};
  // In this order no compiler can fuse anything: the same bits everywhere.
  const double product = double{seed.range} * static_cast<double>(k);
  return static_cast<float>(double{seed.centre} + product / seed.steps);
}

AnswerClass answer_class(table::Storage storage, table::Arithmetic arithmetic) {
  if (arithmetic == table::Arithmetic::kFp16) return AnswerClass::kFp16Arithmetic;
  return storage == table::Storage::kFp32 ? AnswerClass::kFp32 : AnswerClass::kFp16;
}

bool is_for(const Answer& answer, AnswerClass c) {
  return answer.result.tolerance[static_cast<std::size_t>(c)] >= 0;
}

double largest_value(const AnswerResult& result) {
  int most = 0;
  for (const std::int16_t v : result.values) {
    if (v != AnswerResult::kNotCompared) most = std::max(most, std::abs(int{v}));
  }
  return most != 0 ? std::abs(double{result.scale}) * most : 1;
}

std::optional<AnswerClass> class_without_proof(const Answer& answer) {
  if (answer.subnormal) return std::nullopt;
  const double largest = largest_value(answer.result);
  for (std::size_t c = 0; c < kAnswerClasses; ++c) {
    if (double{answer.result.tolerance[c]} >= largest) return static_cast<AnswerClass>(c);
  }
  return std::nullopt;
}

Result<DecodedAnswers> decode_answers(std::span<const std::byte> bytes) {
  return Decoder(bytes).run();
}

}  // namespace spirkiln
