// SPDX-License-Identifier: Apache-2.0
// The operators that are loops of our own, for one picture of one size. Constants are copied into
// the step.
#pragma once

#include <memory>
#include <vector>

#include "cpu/step.hpp"

namespace spirkiln::cpu {

struct StepRequest {
  const model::Node& node;
  std::vector<Dims> inputs;  // as the node lists them, residual included
  Dims output;
  int threads;
  std::shared_ptr<const std::vector<std::vector<float>>> consts;  // as the node lists them
};

// Picture bytes to the input tensor; scale and shift as in ModelHeader.
void normalise(const std::uint8_t* bytes, std::size_t pixels, const float scale[4],
               const float shift[4], int threads, float* out);

Step pool(const StepRequest& q);
Step global_mean(const StepRequest& q);
Step squeeze_excite(const StepRequest& q);
Step binary(const StepRequest& q);
Step affine(const StepRequest& q);
Step resize(const StepRequest& q);
// Inputs may be smaller than the output by whole factors: each pixel is repeated.
Step concat(const StepRequest& q);
Step layer_norm(const StepRequest& q);
Step attention(const StepRequest& q);
Step softmax(const StepRequest& q);

// Turns `values` numbers in place into what the node's epilogue makes of them.
struct Finish {
  explicit Finish(const StepRequest& q);
  void operator()(const StepArgs& a, std::size_t begin, std::size_t end) const;

  model::Epilogue epilogue;
  bool residual, before;
  std::size_t residual_at;
};

}  // namespace spirkiln::cpu
