// SPDX-License-Identifier: Apache-2.0
#include "cpu/pixel_product.hpp"

#include <algorithm>
#include <cstring>

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

PixelProduct::PixelProduct(std::size_t in, std::size_t out, std::vector<float> weights,
                           std::vector<float> bias, const model::Node& node,
                           const dnnl::engine& engine, int threads)
    : in_(in),
      out_(out),
      weights_(std::move(weights)),
      bias_(std::move(bias)),
      epilogue_(node.epilogue),
      residual_((node.flags & model::kHasResidual) != 0),
      before_((node.flags & model::kResidualBefore) != 0),
      engine_(engine),
      stream_(engine),
      threads_(threads) {}

template <typename F>
void PixelProduct::stretches(std::size_t pixels, const F& f) {
  std::size_t at = 0;
  for (const std::size_t length : kLengths) {
    for (; pixels - at >= length; at += length) f(length, at);
    // Eight at once cost little more than one.
    if (length == 8 && at < pixels && pixels >= length) {
      f(length, pixels - length);
      return;
    }
  }
}

void PixelProduct::make(std::size_t length) {
  const auto at = static_cast<std::size_t>(std::find(kLengths.begin(), kLengths.end(), length) -
                                           kLengths.begin());
  if (kernels_[at]) return;
  const memory::desc source({1, dim(in_), 1, dim(length)}, kF32, Tag::nhwc);
  const memory::desc destination({1, dim(out_), 1, dim(length)}, kF32, Tag::nhwc);
  const memory::desc bias({dim(out_)}, kF32, Tag::x);
  const memory::desc any({dim(out_), dim(in_), 1, 1}, kF32, Tag::any);
  dnnl::post_ops ops;
  if (residual_ && before_) ops.append_binary(algorithm::binary_add, destination);
  fused_ = append_activation(ops, epilogue_);
  if (residual_ && !before_) ops.append_binary(algorithm::binary_add, destination);
  dnnl::primitive_attr attributes;
  if (fused_) attributes.set_post_ops(ops);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  // Threads are ours: each stretch is one thread's.
  const ThreadScope scope(1);
  const dnnl::convolution_forward::primitive_desc description(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference,
                                      algorithm::convolution_direct, source, any, bias, destination,
                                      {1, 1}, {0, 0}, {0, 0}),
      attributes, engine_);

  memory weights;
  for (const auto& [layout, made] : layouts_) {
    if (layout == description.weights_desc()) weights = made;
  }
  if (!weights) {
    const memory::desc plain({dim(out_), dim(in_), 1, 1}, kF32, Tag::hwio);
    memory from(plain, engine_, weights_.data());
    weights = memory(description.weights_desc(), engine_);
    dnnl::reorder(from, weights).execute(stream_, from, weights);
    stream_.wait();
    layouts_.emplace_back(description.weights_desc(), weights);
  }
  memory bias_memory(bias, engine_, bias_.data());
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
    if (residual_ && fused_) {
      b.residual = memory(destination, engine_, DNNL_MEMORY_NONE);
      const int op = before_ ? 0 : ops.len() - 1;
      b.args.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(op) | DNNL_ARG_SRC_1, b.residual);
    }
    kernel.threads.push_back(std::move(b));
  }
  kernels_[at] = std::move(kernel);
}

void PixelProduct::prepare(std::size_t pixels) {
  stretches(pixels, [&](std::size_t length, std::size_t) { make(length); });
}

void PixelProduct::execute(std::size_t length, const float* x, const float* r, float* y,
                           int thread) {
  const auto at = static_cast<std::size_t>(std::find(kLengths.begin(), kLengths.end(), length) -
                                           kLengths.begin());
  Kernel& kernel = *kernels_[at];
  Bound& b = kernel.threads[static_cast<std::size_t>(thread)];
  b.source.set_data_handle(const_cast<float*>(x));
  b.destination.set_data_handle(y);
  if (residual_ && fused_) b.residual.set_data_handle(const_cast<float*>(r));
  kernel.primitive.execute(stream_, b.args);
  if (!fused_) finish(epilogue_, before_, y, r, y, length * out_);
}

void PixelProduct::run(std::size_t pixels, const float* x, const float* r, float* y, int thread) {
  stretches(pixels, [&](std::size_t length, std::size_t first) {
    execute(length, x + first * in_, r != nullptr ? r + first * out_ : nullptr, y + first * out_,
            thread);
  });
}

std::size_t PixelProduct::bytes() const {
  std::size_t sum = (weights_.size() + bias_.size()) * sizeof(float);
  for (const auto& [layout, made] : layouts_) sum += layout.get_size();
  return sum;
}

}  // namespace spirkiln::cpu
