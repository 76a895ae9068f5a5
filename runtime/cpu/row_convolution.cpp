// SPDX-License-Identifier: Apache-2.0
#include "cpu/row_convolution.hpp"

#include <algorithm>

#include "cpu/activation.hpp"
#include "cpu/loops.hpp"
#include "cpu/post_operations.hpp"

namespace spirkiln::cpu {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;

std::int64_t dim(std::size_t n) { return static_cast<std::int64_t>(n); }

}  // namespace

RowConvolution::RowConvolution(const Window& window, std::vector<float> weights,
                               std::vector<float> bias, const model::Node& node,
                               const dnnl::engine& engine, int threads)
    : window_(window),
      weights_(std::move(weights)),
      bias_(std::move(bias)),
      epilogue_(node.epilogue),
      residual_((node.flags & model::kHasResidual) != 0),
      before_((node.flags & model::kResidualBefore) != 0),
      engine_(engine),
      stream_(engine),
      threads_(threads) {}

std::size_t RowConvolution::index_of(std::size_t length) {
  return static_cast<std::size_t>(std::find(kLengths.begin(), kLengths.end(), length) -
                                  kLengths.begin());
}

void RowConvolution::make(std::size_t length) {
  std::optional<Kernel>& made = kernels_[index_of(length)];
  if (made) return;
  const Window& w = window_;
  const memory::desc source({1, dim(w.in), dim(w.kh), dim(seen(length))}, kF32, Tag::nhwc);
  const memory::desc destination({1, dim(w.out), 1, dim(length)}, kF32, Tag::nhwc);
  const memory::desc bias({dim(w.out)}, kF32, Tag::x);
  const memory::dims weight_dims = {dim(w.out), dim(w.in), dim(w.kh), dim(w.kw)};
  dnnl::post_ops ops;
  // A residual is added by a loop of ours: oneDNN 2.6 without AVX2 adds the wrong numbers.
  fused_ = !(residual_ && before_) && append_activation(ops, epilogue_);
  dnnl::primitive_attr attributes;
  if (fused_) attributes.set_post_ops(ops);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::convolution_forward::primitive_desc description(
      dnnl::convolution_forward::desc(
          dnnl::prop_kind::forward_inference, algorithm::convolution_direct, source,
          memory::desc(weight_dims, kF32, Tag::any), bias, destination, {1, dim(w.stride_w)},
          {0, dim(w.dilation_w) - 1}, {0, 0}, {0, 0}),
      attributes, engine_);

  memory weights;
  for (const auto& [layout, known] : layouts_) {
    if (layout == description.weights_desc()) weights = known;
  }
  if (!weights) {
    memory from(memory::desc(weight_dims, kF32, Tag::hwio), engine_, weights_.data());
    weights = memory(description.weights_desc(), engine_);
    dnnl::reorder(from, weights).execute(stream_, from, weights);
    stream_.wait();
    layouts_.emplace_back(description.weights_desc(), weights);
  }
  const memory bias_memory(bias, engine_, bias_.data());
  Kernel kernel;
  kernel.primitive = dnnl::convolution_forward(description);
  for (int t = 0; t < threads_; ++t) {
    Bound b;
    b.source = memory(source, engine_, DNNL_MEMORY_NONE);
    b.destination = memory(destination, engine_, DNNL_MEMORY_NONE);
    b.scratch = memory(description.scratchpad_desc(), engine_);
    b.args = {{DNNL_ARG_SRC, b.source},
              {DNNL_ARG_WEIGHTS, weights},
              {DNNL_ARG_BIAS, bias_memory},
              {DNNL_ARG_DST, b.destination},
              {DNNL_ARG_SCRATCHPAD, b.scratch}};
    kernel.workers.push_back(std::move(b));
  }
  made = std::move(kernel);
}

void RowConvolution::run(std::size_t length, const float* x, const float* r, float* y, int worker) {
  Kernel& kernel = *kernels_[index_of(length)];
  Bound& b = kernel.workers[static_cast<std::size_t>(worker)];
  b.source.set_data_handle(const_cast<float*>(x));
  b.destination.set_data_handle(y);
  kernel.primitive.execute(stream_, b.args);
  if (fused_ && !residual_) return;
  const model::Epilogue nothing{model::Activation::kNone, 0, 0, 1, 0};
  finish(fused_ ? nothing : epilogue_, before_, y, r, y, length * window_.out);
}

std::size_t RowConvolution::bytes() const {
  std::size_t sum = (weights_.size() + bias_.size()) * sizeof(float);
  for (const auto& [layout, made] : layouts_) sum += layout.get_size();
  return sum;
}

}  // namespace spirkiln::cpu
