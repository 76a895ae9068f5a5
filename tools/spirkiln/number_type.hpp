// SPDX-License-Identifier: Apache-2.0
// Types of numbers as glslang writes them in its messages.
#pragma once

#include <string>
#include <string_view>

namespace spirkiln::gen {

struct NumberType {
  enum class Base { kNone, kInt, kUint, kHalf, kFloat };

  Base base = Base::kNone;
  int columns = 1;  // of a matrix
  int rows = 1;     // lanes of a vector

  bool is_int() const { return base == Base::kInt || base == Base::kUint; }
  bool is_half() const { return base == Base::kHalf; }
  bool is_number() const { return base != Base::kNone; }
  bool same_shape(const NumberType& other) const {
    return columns == other.columns && rows == other.rows;
  }
  NumberType as_half() const { return {Base::kHalf, columns, rows}; }
  NumberType as_float() const { return {Base::kFloat, columns, rows}; }
  // Its name in GLSL, for half and float.
  std::string name() const;
};

// "temp highp 4-component vector of float", "const int" and so on; arrays and structures are none.
NumberType parse_number_type(std::string_view text);

// The text behind `lead`, up to the next quote.
std::string_view quoted(std::string_view text, std::string_view lead);

}  // namespace spirkiln::gen
