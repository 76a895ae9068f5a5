// SPDX-License-Identifier: Apache-2.0
// Every function of the dialect as one row: what it reads and writes, and what becomes of a lane.
// Kernels and expected results are both made from the rows.
#pragma once

#include <span>
#include <string>

#include "variants.hpp"
#include "vulkan_run.hpp"

namespace spirkiln::test {

// What a side of a function is: one lane after the other, whatever the type is called.
enum class Side {
  kFloats,  // plain words with the bits of floats: what a kernel computes with
  kInts,    // plain ints
  kS1,      // sfp, sfpvec2 ...
  kS2,
  kS4,
  kS8,
  kS16,  // sfpmat4
  kI8,   // sint8, sint8vec4
  kI8x4,
  kI16,  // sint16, sint16vec4
  kI16x4,
  kI16x2,  // a plain int of two
  kImage1,
  kImage4,
};

// What becomes of a lane on its way.
enum class Path {
  kBits,    // nothing: the very bits
  kCopy,    // nothing, but for what the types force where one side is packed
  kLoad,    // stored, arithmetic, float
  kStore,   // float, arithmetic, stored
  kWide,    // float, stored
  kLocal1,  // float, arithmetic, local, arithmetic, float
  kLocal4,
  kThrough,  // stored, arithmetic, stored; of images too
  kFetch,   // as kLoad and so on, of images
  kPut,
  kMove,
  kInteger,  // whole numbers, cut to the width of what they are stored in
  kRound8,   // float to a whole number from -127 to 127
};

enum class Where { kEverywhere, kHalfArithmetic, kMatrices, kNotTight, kInt16, kMatrixOfEight };

struct Function {
  const char* name;
  int edition;  // 2023, 2026 or 0 for both
  Side from, to;
  // Lanes that an invocation handles, and how many of them stay together. Units are read from
  // (or, with `scatter`, written to) places of a fixed permutation.
  std::uint32_t lanes, unit;
  bool scatter;
  Path path;
  // Of a kernel's main: i the invocation, j its unit; q, r (4) and h (2) its units where it has
  // several; t the local invocation.
  const char* body;
  Where where = Where::kEverywhere;
  std::uint32_t shift = 0;  // lanes by which pairs are moved, so that they share no word
};

std::span<const Function> buffer_functions();
std::span<const Function> image_functions();  // in bodies, D is the number of dimensions
std::span<const Function> integer_functions();

bool exists(const Function& function, const Variant& variant);
// Of a function that gathers: the lane of the source that comes to this one.
std::uint32_t read_from(const Function& function, std::uint32_t lane, std::uint32_t lanes);
Codec codec_of(Side side, const Variant& variant);

struct Trial {
  Job job;  // without words until it is compiled
  std::string text;
  std::uint32_t lanes = 0;            // that are moved
  std::vector<std::uint32_t> before;  // lanes of the source, and some behind them
  // Lanes of the destination. The first is what the device's conversions give one by one; others
  // where the driver may leave some of them out.
  std::vector<std::vector<std::uint32_t>> allowed;
  std::vector<bool> checked;            // false where anything is right
  Codec codec = Codec::kF32;
  bool exact = false;  // even the bits of a NaN
};
// `dims` is 0 for buffers. `index` varies what does not matter (int or uint).
Trial make_trial(const Function& function, const Variant& variant, std::uint32_t dims,
                 std::size_t index);

}  // namespace spirkiln::test
