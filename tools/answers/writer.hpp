// SPDX-License-Identifier: Apache-2.0
// Known answers as TOML: what is in the buffers of a dispatch, and what has to come out.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "cases.hpp"
#include "oracle.hpp"

namespace spirkiln::answers {

// Ends the program with this message.
[[noreturn]] void die(const std::string& what);

float value_of(const Data& d, std::uint32_t i);
// All values of each constant.
std::vector<std::vector<double>> values_of(const std::vector<Data>& consts);
// The values of a tensor without its padding lanes.
oracle::Tensor tight(const Data& d, const Dims& dims);

// What has to come out: as it is stored, NaN where anything will do.
struct Result {
  AnswerKind kind = AnswerKind::kTensor;
  std::vector<double> values;
  double mag = 0;  // the largest of what rounding is relative to
  double unit = 1;  // as bytes: 255, which that is in
};

Result stored(const oracle::Tensor& t, bool padding_is_zero);
// What a case gives for these inputs, and for its own.
Result result_of(const Case& c, const std::vector<oracle::Tensor>& inputs);
Result result_of(const Case& c);

// What is at a reference of a dispatch; null for the result.
using Bind = std::function<const Data*(const BufferRef&)>;
// Inputs and constants by their numbers.
Bind bind_case(const Case& c);

// Answers that the tuning has no use for: lowering, which goes by it, takes another way.
struct LeftOut {
  std::string kernel, why;  // why: of the first
  const char* file = "";
  std::uint_least32_t line = 0;  // that asks for it
  std::uint32_t count = 0;
};

class Writer {
 public:
  std::string text =
      "# Made by spirkiln-answers: what the kernels of the OCR table have to compute.\n";

  // One dispatch of a case.
  void add(const Dispatch& d, std::uint32_t subgroup, const Case& c, const Result& r,
           const Bind& bind);

  // In place of add().
  void leave_out(std::string_view kernel, const std::string& why, const std::source_location& at);
  std::vector<LeftOut> left_out;  // one for each kernel and line

 private:
  void add_buffer(std::uint32_t binding, const Data& d);
  void add_result(std::uint32_t binding, const Case& c, const Result& r);
};

}  // namespace spirkiln::answers
