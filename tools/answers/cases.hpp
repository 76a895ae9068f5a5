// SPDX-License-Identifier: Apache-2.0
// The questions: small nodes of odd shapes, with seeds for their data.
#pragma once

#include <string>
#include <vector>

#include "graph/dispatch.hpp"
#include "spirkiln/model_format.hpp"
#include "table/answers.hpp"

namespace spirkiln::answers {

// What is in a tensor or a constant. `count` values, padding lanes included.
struct Data {
  AnswerKind kind = AnswerKind::kTensor;
  std::uint32_t count = 0;
  AnswerSeed seed;
};

struct Case {
  model::Node node{};
  std::vector<Dims> dims;    // of the inputs, the residual's last
  std::vector<Data> inputs;
  std::vector<Data> consts;
  Dims output;
  bool subnormal = false;
  double step = 0;   // that the results are whole multiples of; 0: none
  double extra = 0;  // that halves may be off beyond the usual
};

// What a case is about: ordinary numbers with everything that the epilogue does; or subnormals of
// 16 bits, in and out. Both are the same dispatch but for numbers that are pushed, so that they
// share a pipeline.
enum class Numbers { kOrdinary, kSubnormal };

// A matrix product; with fewer inputs K is too short to be shared out.
Case pointwise(Numbers numbers, std::uint32_t rows = 23, std::uint32_t inputs = 41);
Case window(Numbers numbers, std::uint32_t lines = 4);  // uneven stride and padding
Case small_window(Numbers numbers);                     // K as short as that
Case wide_window(Numbers numbers);  // channels of whole matrices
Case stem(Numbers numbers, const Data& bytes);  // input 0: a picture's bytes
Case depthwise(Numbers numbers);
Case wide_depthwise(Numbers numbers);  // another window, in other steps
// A depthwise convolution that a pointwise one reads, whose residual is its input 1; `wide`:
// another window, in other steps.
struct Separable {
  Case window, point;
};
Separable separable(Numbers numbers, bool wide);
// The nodes of a transformer's block, as lower_transformer() has them; input 0 of the first is what
// goes in.
std::vector<Case> transformer(Numbers numbers, model::Activation act, bool last_norm);
Case transposed(Numbers numbers, std::uint32_t inputs = 30);
Case one_channel(Numbers numbers, std::uint32_t width = 7);  // transposed, to one channel
Case affine(Numbers numbers);
Case binary(Numbers numbers);
Case resize(Numbers numbers);
Case concat(Numbers numbers, const std::vector<std::uint32_t>& channels);
Case pool(Numbers numbers, model::Op op);
Case mean(Numbers numbers, const Dims& x);
Case squeeze_excite(Numbers numbers);
// The gate on the mean of a picture, to be multiplied by it: input 0 is the picture, with a
// residual of the product.
Case scaled(Numbers numbers);
Case widely_scaled(Numbers numbers);  // of more channels
Case layer_norm(Numbers numbers);
Case softmax(Numbers numbers);
Case attention(Numbers numbers);

// The same without the residual, as most nodes of a graph are, and with another activation where
// one is given.
Case plain(Case c);
Case plain(Case c, model::Activation act);
// x * y with one y for all of a picture's pixels, as a gate is applied.
Case gated(Numbers numbers);

// A tensor of ordinary numbers, or of subnormals.
Data tensor(const Dims& dims, std::uint32_t seed, Numbers numbers);

}  // namespace spirkiln::answers
