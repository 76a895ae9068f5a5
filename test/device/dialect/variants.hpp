// SPDX-License-Identifier: Apache-2.0
// The dialect's variants as the tests' model sees them, and how the device at hand converts.
#pragma once

#include <string>
#include <vector>

#include "numbers.hpp"
#include "spirkiln/compile.hpp"

namespace spirkiln::test {

struct Variant {
  std::string profile;  // "ncnn-2023"
  std::string name;     // as Option chooses it
  std::string form;     // further words for people: "with 16-bit storage"
  bool half_arithmetic = false;
  bool packed = false;  // words of two halves, through packHalf2x16; else 16-bit storage
  Codec scalar = Codec::kF32;  // of a buffer of single lanes
  Codec vector = Codec::kF32;  // of a buffer of vectors
  Codec image1 = Codec::kF32;  // imfmtc1
  Codec image4 = Codec::kF32;
  Codec int16 = Codec::kI32;  // of a buffer of 16-bit integers
  std::string int8_form, int16_form;  // "storage", "packed" or neither
  std::vector<std::pair<std::string, std::string>> defines;

  bool is_2026() const { return profile == "ncnn-2026"; }
  bool on_images() const { return name.starts_with("image"); }
  bool has_matrices() const {
    return vector == Codec::kF32 || (vector == Codec::kF16 && !packed && half_arithmetic);
  }
  std::string title() const;
};

// In the order of the documentation, without bf16s.
const std::vector<Variant>& variants();
// The forms of integers of 2026, beside fp32; one of packed ones beside packed floats too.
const std::vector<Variant>& integer_variants();

// What compile_spirv_module takes for it.
Option option_of(const Variant& variant);

struct Compiled {
  std::vector<std::uint32_t> words;  // empty after an error
  std::string said;
};
Compiled try_compile(const Option& option, const std::string& text, const std::string& name);

// The words, or a failed test that shows what the compiler said.
std::vector<std::uint32_t> compile_for(const Variant& variant, const std::string& text,
                                       const std::string& name);

// How the device at hand converts: measured once, with plain GLSL.
struct Conversions {
  Rounding pack;            // packHalf2x16
  Rounding convert;         // FConvert to a 16-bit float
  Rounding image;           // imageStore into a format of 16 bits
  bool unpack_flushes = false;   // unpackHalf2x16 of subnormal halves
  bool convert_flushes = false;  // FConvert of them
  bool fetch_flushes = false;    // texelFetch of them
  // A float that becomes a 16-bit one and a float again in one kernel may keep all its bits.
  bool excess = false;
  bool operator==(const Conversions&) const = default;
};
// May fail the test, so the first call is not for a thread of in_parallel.
const Conversions& conversions();

}  // namespace spirkiln::test
