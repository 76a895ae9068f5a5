// SPDX-License-Identifier: Apache-2.0
// Convolutions. Scales are folded into the weights: these are fp32, where nothing that matters
// becomes subnormal (unlike in fp16; model_format.hpp keeps them apart for that reason).
//
// Which code computes one is decided by its window and channels alone:
// - depthwise ones by loops of ours (depthwise.cpp);
// - 1x1, transposed ones, lines and those of few inputs as products of pixels (pixel_product.hpp),
//   the pixels of a window put side by side first;
// - the others by a primitive of oneDNN for the whole picture, made for each size.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "cpu/pixel_product.hpp"
#include "cpu/step.hpp"

namespace spirkiln::cpu {

// Where graphs run.
struct Machine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  int threads = 1;
};

// The constants of one convolution, shared by the plans of all sizes.
class ConvWeights {
 public:
  // Errors: kNotFinite where scale and weights together leave fp32.
  static Result<std::unique_ptr<ConvWeights>> create(const Model::State& model,
                                                     const model::Node& node,
                                                     const Machine& machine);

  // [kh][kw][in][out], [kh][kw][channels] of a depthwise one; empty where product() has them.
  const std::vector<float>& values() const { return values_; }
  const std::vector<float>& bias() const { return bias_; }
  // In the layout that a primitive asks for: made when it is first asked for, and kept. Different
  // sizes ask for few layouts; the latest kMostLayouts are kept.
  dnnl::memory in_layout(const dnnl::memory::desc& layout, const dnnl::engine& engine);
  PixelProduct* product() const { return product_.get(); }  // null where there is none
  std::size_t bytes() const;

 private:
  static constexpr std::size_t kMostLayouts = 4;
  std::int64_t in_ = 0, out_ = 0, kh_ = 1, kw_ = 1;
  std::vector<float> values_;
  std::vector<float> bias_;
  std::vector<std::pair<dnnl::memory::desc, dnnl::memory>> layouts_;
  std::unique_ptr<PixelProduct> product_;
};

// kConv, kDepthwise or kDeconv for one picture. `weights` must outlive the step.
Step convolution(const model::Node& node, const Dims& in, const Dims& out, ConvWeights& weights,
                 const Machine& machine);

Step depthwise(const model::Node& node, const Dims& in, const Dims& out,
               const ConvWeights& weights);

}  // namespace spirkiln::cpu
