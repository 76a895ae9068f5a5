// SPDX-License-Identifier: Apache-2.0
// Builds model packs straight from model_format.hpp, without ONNX.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "spirkiln/model_format.hpp"

namespace spirkiln::test {

class PackBuilder {
 public:
  PackBuilder();

  // Expressions; each gives its index.
  std::uint32_t num(std::int32_t value) { return expr(model::ExprOp::kConst, value, 0); }
  std::uint32_t expr(model::ExprOp op, std::int32_t a, std::int32_t b);
  std::uint32_t op(model::ExprOp o, std::uint32_t a, std::uint32_t b) {
    return expr(o, static_cast<std::int32_t>(a), static_cast<std::int32_t>(b));
  }
  std::uint32_t n() const { return 0; }
  std::uint32_t h() const { return 1; }
  std::uint32_t w() const { return 2; }
  // (size + pad - reach) / stride + 1
  std::uint32_t windows(std::uint32_t size, int pad, int reach, int stride);

  void constraint(std::uint32_t a, std::uint32_t b, const std::string& message);
  std::uint32_t tensor(std::uint32_t n, std::uint32_t h, std::uint32_t w, std::int32_t c);
  std::uint32_t floats(const std::vector<float>& values);
  // Values are stored as hi and lo halves.
  std::uint32_t weights(const std::vector<float>& values);

  // Fills first_input and the like; gives the node for changes.
  model::Node& node(model::Op op, std::uint32_t output, const std::vector<std::uint32_t>& inputs,
                    const std::vector<std::uint32_t>& consts = {},
                    const std::vector<std::int32_t>& attributes = {});
  void output(std::uint32_t tensor) { outputs_.push_back(tensor); }

  // The input tensor is n x h x w x 3; bytes come in as b / 255.
  std::uint32_t input() const { return 0; }
  std::vector<std::byte> build() const;

 private:
  std::uint32_t string(const std::string& text);
  std::uint64_t append(const void* bytes, std::size_t size);

  std::vector<char> strings_ = {'\0'};
  std::vector<model::Expr> exprs_;
  std::vector<model::Constraint> constraints_;
  std::vector<model::Tensor> tensors_;
  std::vector<model::Node> nodes_;
  std::vector<std::uint32_t> refs_;
  std::vector<model::Const> consts_;
  std::vector<std::uint32_t> outputs_;
  std::vector<std::byte> data_;
};

// n values between -0.4 and 0.4.
std::vector<float> ramp(std::size_t n);
// A graph with one node of most kinds; outputs a softmax over 12 channels and a gate of 6.
PackBuilder mixed_graph();

}  // namespace spirkiln::test
