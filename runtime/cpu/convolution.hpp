// SPDX-License-Identifier: Apache-2.0
// Convolutions: depthwise ones by loops of ours (depthwise.cpp), all others by oneDNN in stretches
// of a row (row_convolution.hpp).
#pragma once

#include <memory>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "cpu/row_convolution.hpp"
#include "cpu/step.hpp"

namespace spirkiln::cpu {

// Where graphs run.
struct Machine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  int threads = 1;
};

// The constants of one convolution, shared by the plans of all sizes. Scales are folded into the
// weights: these are fp32, where nothing that matters becomes subnormal (unlike in fp16;
// model_format.hpp keeps them apart for that reason).
struct ConvWeights {
  // Errors: kNotFinite where scale and weights together leave fp32.
  static Result<std::unique_ptr<ConvWeights>> create(const Model::State& model,
                                                     const model::Node& node,
                                                     const Machine& machine);
  std::size_t bytes() const;

  // Of a depthwise one: [kh][kw][channels].
  std::vector<float> filters, bias;
  std::unique_ptr<RowConvolution> rows;  // of the others
};

// kConv, kDepthwise or kDeconv for one picture. `weights` must outlive the step.
Step convolution(const model::Node& node, const Dims& in, const Dims& out, ConvWeights& weights,
                 const Machine& machine);

Step depthwise(const model::Node& node, const Dims& in, const Dims& out, const ConvWeights& weights,
               int threads);

}  // namespace spirkiln::cpu
