// SPDX-License-Identifier: Apache-2.0
// Known answers of kernels: a dispatch, what is in its buffers, and what has to come out. They lie
// in a table's attachment "answers" and are proved on the user's device (proof/).
//
// Inputs are seeds, not data, and results are 16-bit fixed point, so that the answers of all
// kernels of a table take a few kilobytes. The stored form; "number" and little-endian words as in
// table_format.hpp, a string is its length (number) and its bytes:
//
//   answers one behind the other to the end, in the order of their kernels; each:
//     kernel (string); number of axes, each: axis, value (strings)
//     flags (number; 1: about subnormals); subgroup size (number; 0: any)
//     workgroup's size (3 numbers; 0: the kernel's own), workgroups (3 numbers)
//     number of constants, each: name (string), bits (word)
//     number of words to push, and these
//     number of buffers, each: binding (number), kind (byte), count of values (number), form
//     (byte);
//       form 0: seed, steps, row, used of a row, rows, used of them (numbers), centre, range, rest
//       (words); form 1: the values (words, of kBytes bytes)
//     result: binding (number), kind (byte), count (number), scale, bound (words),
//       tolerance of each class (kClasses words), low bytes of all values, then high bytes
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "spirkiln/result.hpp"
#include "spirkiln/table_format.hpp"

namespace spirkiln {

inline constexpr char kAnswersAttachment[] = "answers";

// Readers refuse more.
inline constexpr std::uint32_t kMaxAnswers = 1u << 14;
inline constexpr std::uint32_t kMaxAnswerValues = 1u << 16;  // of one buffer
inline constexpr std::uint64_t kMaxAnswersValues = 1u << 23;  // of all of them
inline constexpr std::uint32_t kMaxAnswerBuffers = 64;
inline constexpr std::uint32_t kMaxAnswerPushWords = 64;
inline constexpr std::uint32_t kMaxAnswerInvocations = 1u << 24;  // of one dispatch

// How values lie in a buffer.
enum class AnswerKind : std::uint8_t {
  kTensor = 0,  // vectors of four in the variant's storage; an image in image forms
  kFloat = 1,   // fp32 whatever the variant
  kBytes = 2,   // whole numbers of 0 to 255
};

// Value i of a seeded buffer: i is lane i % row of row i / row. Lanes from `used` on, and rows
// whose number modulo `rows` is `used_rows` or more, hold `rest`; the others
//   centre + range * k / steps,   k = hash(seed, i) % (2 * steps + 1) - steps
// or as bytes hash(seed, i) >> 24. With a range that is a power of two and 1024 steps a half holds
// them exactly.
struct AnswerSeed {
  std::uint32_t seed = 0, steps = 1024;
  std::uint32_t row = 4, used = 4;
  std::uint32_t rows = 1, used_rows = 1;
  float centre = 0, range = 1, rest = 0;
};

struct AnswerBuffer {
  std::uint32_t binding = 0;
  AnswerKind kind = AnswerKind::kTensor;
  std::uint32_t count = 0;      // of values
  AnswerSeed seed;              // where there are no values
  std::vector<float> values;    // all of them, or none
  float value(std::uint32_t i) const;
};

// Variants are of a class by how they round.
enum class AnswerClass : std::uint8_t { kFp32 = 0, kFp16 = 1, kFp16Arithmetic = 2 };
inline constexpr std::size_t kAnswerClasses = 3;

// What has to be in the buffer `binding` in the end: value i is scale * values[i] to within the
// tolerance of the variant's class. kNotCompared stands where any finite value will do.
struct AnswerResult {
  static constexpr std::int16_t kNotCompared = -32768;
  std::uint32_t binding = 0;
  AnswerKind kind = AnswerKind::kTensor;
  float scale = 1;
  float bound = 0;  // of an answer about subnormals: no flushing gives more than this
  std::array<float, kAnswerClasses> tolerance{};  // negative: not for variants of this class
  std::vector<std::int16_t> values;
};

struct Answer {
  std::string kernel;
  std::vector<std::pair<std::string, std::string>> axes;  // that variants must have
  bool subnormal = false;  // tells only whether subnormals of 16 bits are kept
  std::uint32_t subgroup = 0;  // what the device's subgroups must have; 0: anything
  std::array<std::uint32_t, 3> local_size{}, groups{1, 1, 1};
  std::vector<std::pair<std::string, std::uint32_t>> constants;  // by name; bits
  std::vector<std::uint32_t> push;
  std::vector<AnswerBuffer> buffers;  // that of the result may be among them: what it begins with
  AnswerResult result;
};

AnswerClass answer_class(table::Storage storage, table::Arithmetic arithmetic);
// Whether a variant's values must be those of the answer.
bool is_for(const Answer& answer, AnswerClass c);
// The largest magnitude of what is compared; 1 where all of it is 0.
double largest_value(const AnswerResult& result);
// A class whose tolerance is not below that, so that zeros would pass for the answer: it proves
// next to nothing. None for answers about subnormals, which are compared with their bound.
std::optional<AnswerClass> class_without_proof(const Answer& answer);

struct DecodedAnswers {
  std::vector<Answer> answers;
  std::vector<std::uint64_t> hashes;  // of each one's stored bytes
};

// Checks everything: what comes back keeps to the bounds above. Errors: kCorrupt naming the answer.
Result<DecodedAnswers> decode_answers(std::span<const std::byte> bytes);

}  // namespace spirkiln
