// SPDX-License-Identifier: Apache-2.0
#include "cpu/convolution.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "cpu/activation.hpp"
#include "cpu/loops.hpp"
#include "cpu/post_operations.hpp"

namespace spirkiln::cpu {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using model::Activation;
using model::Op;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;

// Of a window of more numbers, putting them side by side costs more than making a primitive.
constexpr std::size_t kFewInputs = 64;
// What a thread gathers of windows at a time stays in its second-level cache.
constexpr std::size_t kGathered = std::size_t{512} << 10;

std::size_t attribute(const model::Node& node, int i) {
  return static_cast<std::size_t>(node.i[i]);
}

bool is_product(const model::Node& node) {
  if (node.op == Op::kDeconv) return true;
  if (node.op != Op::kConv) return false;
  // One row high: a line of text, a few hundred pixels at most.
  return node.i[0] == 1 ||
         attribute(node, 0) * attribute(node, 1) * attribute(node, 10) <= kFewInputs;
}

// Of a product whose pixels are the input's own.
bool is_pointwise(const model::Node& node) {
  const std::int32_t* i = node.i;
  return node.op == Op::kDeconv || (i[0] == 1 && i[1] == 1 && i[2] == 1 && i[3] == 1 && i[4] == 0 &&
                                    i[5] == 0 && i[6] == 0 && i[7] == 0);
}

// `n` floats; the sizes that the graphs have without a loop.
inline void copy(const float* from, std::size_t n, float* to) {
  if (n == 9) {  // three pixels of a picture
    std::memcpy(to, from, 9 * sizeof(float));
  } else if (n == 2) {  // the map of a detection
    std::memcpy(to, from, 2 * sizeof(float));
  } else {
    for (std::size_t k = 0; k < n; ++k) to[k] = from[k];
  }
}

// The windows of output pixels [begin, end), each as kh * kw * c numbers; padding is 0.
SPIRKILN_VECTOR_LOOP void gather(const std::int32_t* i, const Dims& in, std::size_t out_width,
                                 const float* x, std::size_t begin, std::size_t end, float* to) {
  const auto h = static_cast<std::ptrdiff_t>(in.h), w = static_cast<std::ptrdiff_t>(in.w);
  const std::size_t c = in.c;
  std::size_t oy = begin / out_width, ox = begin % out_width;
  for (std::size_t p = begin; p < end; ++p) {
    const std::ptrdiff_t left = static_cast<std::ptrdiff_t>(ox) * i[3] - i[5];
    const bool side_by_side = i[9] == 1 && left >= 0 && left + i[1] <= w;
    for (std::ptrdiff_t ky = 0; ky < i[0]; ++ky) {
      const std::ptrdiff_t y = static_cast<std::ptrdiff_t>(oy) * i[2] - i[4] + ky * i[8];
      if (side_by_side && y >= 0 && y < h) {
        const std::size_t row = static_cast<std::size_t>(i[1]) * c;
        copy(x + static_cast<std::size_t>(y * w + left) * c, row, to);
        to += row;
        continue;
      }
      for (std::ptrdiff_t kx = 0; kx < i[1]; ++kx, to += c) {
        const std::ptrdiff_t xx = left + kx * i[9];
        if (y < 0 || y >= h || xx < 0 || xx >= w) {
          for (std::size_t k = 0; k < c; ++k) to[k] = 0;
          continue;
        }
        const float* from = x + static_cast<std::size_t>(y * w + xx) * c;
        for (std::size_t k = 0; k < c; ++k) to[k] = from[k];
      }
    }
    if (++ox == out_width) {
      ox = 0;
      ++oy;
    }
  }
}

// tile[kh * kw * c] of every input pixel to its kh x kw output pixels, rows [begin, end).
SPIRKILN_VECTOR_LOOP void spread_rows(const float* tiles, float* out, std::size_t begin,
                                      std::size_t end, std::size_t width, std::size_t kh,
                                      std::size_t block) {
  for (std::size_t row = begin; row < end; ++row) {
    const std::size_t y = row % kh;
    const float* from = tiles + row / kh * width * kh * block + y * block;
    float* to = out + row * width * block;
    for (std::size_t x = 0; x < width; ++x) copy(from + x * kh * block, block, to + x * block);
  }
}

// How many threads the pixels of a product are spread over.
std::vector<std::size_t> bounds_of(std::size_t pixels, std::size_t values, const Machine& machine) {
  const std::size_t worth = values / kWorthThreads + 1;
  return ranges_of(pixels, 8, std::min(worth, static_cast<std::size_t>(machine.threads)));
}

Step pointwise(const model::Node& node, const Dims& in, const Dims& out, ConvWeights& weights,
               const Machine& machine) {
  PixelProduct& product = *weights.product();
  const std::size_t pixels = in.pixels(), in_c = in.c,
                    out_c = values_of(out) / pixels;  // kh * kw times the channels of a kDeconv
  const auto bounds = bounds_of(pixels, pixels * (in_c + out_c) * 4, machine);
  for (std::size_t r = 0; r + 1 < bounds.size(); ++r) product.prepare(bounds[r + 1] - bounds[r]);
  const bool residual = (node.flags & model::kHasResidual) != 0;
  const std::size_t residual_at = node.input_count - 1;
  const auto run = [&product, bounds, in_c, out_c](const float* x, const float* r, float* y) {
    parallel_ranges(bounds, [&](std::size_t range, std::size_t begin, std::size_t end) {
      product.run(end - begin, x + begin * in_c, r != nullptr ? r + begin * out_c : nullptr,
                  y + begin * out_c, static_cast<int>(range));
    });
  };
  Step step;
  if (node.op == Op::kConv) {
    step.run = [=](const StepArgs& a) {
      run(a.in[0], residual ? a.in[residual_at] : nullptr, a.out);
    };
    return step;
  }
  // A transposed convolution: the product has all values of an input pixel side by side. Where it
  // has a residual, the epilogue comes after the spreading.
  step.scratch_bytes = values_of(out) * sizeof(float);
  const std::size_t kh = attribute(node, 0), block = attribute(node, 1) * out.c;
  const bool before = (node.flags & model::kResidualBefore) != 0;
  const model::Epilogue epilogue = node.epilogue;
  step.run = [=](const StepArgs& a) {
    auto* tiles = reinterpret_cast<float*>(a.scratch);
    run(a.in[0], nullptr, tiles);
    const std::size_t row = std::size_t{out.w} * out.c;
    parallel(out.h, values_of(out), [&](std::size_t begin, std::size_t end) {
      spread_rows(tiles, a.out, begin, end, in.w, kh, block);
      if (!residual) return;
      finish(epilogue, before, a.out + begin * row, a.in[residual_at] + begin * row,
             a.out + begin * row, (end - begin) * row);
    });
  };
  return step;
}

Step gathered(const model::Node& node, const Dims& in, const Dims& out, ConvWeights& weights,
              const Machine& machine) {
  PixelProduct& product = *weights.product();
  const std::size_t window = attribute(node, 0) * attribute(node, 1) * in.c;
  const std::size_t at_once = std::clamp<std::size_t>(kGathered / (window * sizeof(float)) / 8 * 8,
                                                      8, PixelProduct::kLongest);
  const std::size_t pixels = out.pixels();
  const auto bounds = bounds_of(pixels, pixels * (window + out.c) * 4, machine);
  for (std::size_t r = 0; r + 1 < bounds.size(); ++r) {
    const std::size_t length = bounds[r + 1] - bounds[r];
    if (length >= at_once) product.prepare(at_once);
    if (length % at_once != 0) product.prepare(length % at_once);
  }
  const bool residual = (node.flags & model::kHasResidual) != 0;
  const std::size_t residual_at = node.input_count - 1;
  Step step;
  step.scratch_bytes = (bounds.size() - 1) * at_once * window * sizeof(float);
  step.run = [=, &product, i = std::to_array(node.i)](const StepArgs& a) {
    parallel_ranges(bounds, [&](std::size_t range, std::size_t begin, std::size_t end) {
      float* windows = reinterpret_cast<float*>(a.scratch) + range * at_once * window;
      for (std::size_t p = begin; p < end; p += at_once) {
        const std::size_t last = std::min(p + at_once, end);
        gather(i.data(), in, out.w, a.in[0], p, last, windows);
        product.run(last - p, windows, residual ? a.in[residual_at] + p * out.c : nullptr,
                    a.out + p * out.c, static_cast<int>(range));
      }
    });
  };
  return step;
}

// A primitive with the memories that it is executed on.
struct Bound {
  dnnl::primitive primitive;
  memory source, destination, residual, scratch;
  std::unordered_map<int, memory> args;
};

Step whole(const model::Node& node, const Dims& in, const Dims& out, ConvWeights& weights,
           const Machine& machine) {
  const dnnl::engine& engine = machine.engine;
  const bool residual = (node.flags & model::kHasResidual) != 0;
  const bool before = (node.flags & model::kResidualBefore) != 0;
  const auto shape = [](const Dims& d) {
    return memory::dims{1, static_cast<std::int64_t>(d.c), static_cast<std::int64_t>(d.h),
                        static_cast<std::int64_t>(d.w)};
  };
  const std::int32_t* i = node.i;
  const memory::desc source(shape(in), kF32, Tag::nhwc), destination(shape(out), kF32, Tag::nhwc);
  const memory::desc bias({i[11]}, kF32, Tag::x), any({i[11], i[10], i[0], i[1]}, kF32, Tag::any);
  dnnl::post_ops ops;
  if (residual && before) ops.append_binary(algorithm::binary_add, destination);
  const bool fused = append_activation(ops, node.epilogue);
  if (residual && !before) ops.append_binary(algorithm::binary_add, destination);
  dnnl::primitive_attr attributes;
  if (fused) attributes.set_post_ops(ops);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::convolution_forward::primitive_desc description(
      dnnl::convolution_forward::desc(
          dnnl::prop_kind::forward_inference, algorithm::convolution_direct, source, any, bias,
          destination, {i[2], i[3]}, {i[8] - 1, i[9] - 1}, {i[4], i[5]}, {i[6], i[7]}),
      attributes, engine);

  auto bound = std::make_shared<Bound>();
  bound->primitive = dnnl::convolution_forward(description);
  bound->source = memory(source, engine, DNNL_MEMORY_NONE);
  bound->destination = memory(destination, engine, DNNL_MEMORY_NONE);
  bound->scratch = memory(description.scratchpad_desc(), engine, DNNL_MEMORY_NONE);
  memory bias_memory(bias, engine);
  std::memcpy(bias_memory.get_data_handle(), weights.bias().data(), bias.get_size());
  bound->args = {{DNNL_ARG_SRC, bound->source},
                 {DNNL_ARG_WEIGHTS, weights.in_layout(description.weights_desc(), engine)},
                 {DNNL_ARG_BIAS, bias_memory},
                 {DNNL_ARG_DST, bound->destination},
                 {DNNL_ARG_SCRATCHPAD, bound->scratch}};
  if (residual && fused) {
    bound->residual = memory(destination, engine, DNNL_MEMORY_NONE);
    const int at = before ? 0 : ops.len() - 1;
    bound->args.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(at) | DNNL_ARG_SRC_1, bound->residual);
  }
  Step step;
  step.scratch_bytes = description.scratchpad_desc().get_size();
  const std::size_t residual_at = node.input_count - 1, values = values_of(out);
  const dnnl::stream stream(engine);
  step.run = [=, epilogue = node.epilogue](const StepArgs& a) {
    const float* r = residual ? a.in[residual_at] : nullptr;
    bound->source.set_data_handle(const_cast<float*>(a.in[0]));
    bound->destination.set_data_handle(a.out);
    bound->scratch.set_data_handle(a.scratch);
    if (residual && fused) bound->residual.set_data_handle(const_cast<float*>(r));
    bound->primitive.execute(stream, bound->args);
    if (fused) return;
    parallel(values, values, [&](std::size_t begin, std::size_t end) {
      finish(epilogue, before, a.out + begin, r == nullptr ? nullptr : r + begin, a.out + begin,
             end - begin);
    });
  };
  return step;
}

}  // namespace

Result<std::unique_ptr<ConvWeights>> ConvWeights::create(const Model::State& model,
                                                         const model::Node& node,
                                                         const Machine& machine) {
  auto made = std::make_unique<ConvWeights>();
  ConvWeights& w = *made;
  const auto consts = model.consts_of(node);
  const std::vector<float> raw = floats_of(model, consts[0]), scale = floats_of(model, consts[1]),
                           bias = floats_of(model, consts[2]);
  const std::size_t taps = attribute(node, 0) * attribute(node, 1), in = attribute(node, 10),
                    out = attribute(node, 11);
  w.in_ = node.i[10];
  w.out_ = node.i[11];
  w.kh_ = node.i[0];
  w.kw_ = node.i[1];
  // Rows of padded outputs: [tap] of a depthwise one, [in][tap] of a transposed one, [tap][in],
  // each padded to four in the pack.
  const bool deconv = node.op == Op::kDeconv, depthwise = node.op == Op::kDepthwise;
  float worst = 0;
  const auto put_row = [&](std::size_t row) {
    for (std::size_t o = 0; o < out; ++o) {
      const float v = raw[row * cpad(out) + o] * scale[o];
      worst += v - v;  // NaN once one is not finite
      w.values_.push_back(v);
    }
  };
  for (std::size_t t = 0; t < taps; ++t) {
    if (depthwise) put_row(t);
    for (std::size_t k = 0; k < in && !depthwise; ++k) {
      put_row(deconv ? t * in + k : t * cpad(in) + k);  // a transposed one has no gaps in its rows
    }
  }
  for (std::size_t k = 0; k < (deconv ? taps : 1); ++k) {
    w.bias_.insert(w.bias_.end(), bias.begin(), bias.begin() + static_cast<std::ptrdiff_t>(out));
  }
  if (worst != 0) {
    return Error{ErrorCode::kNotFinite, model.origin + ": weights and scale of " +
                                            std::string(model.string(node.name)) +
                                            " give NaN or infinity as 32-bit floats"};
  }
  if (is_product(node)) {
    model::Node epilogue = node;
    if (deconv && (node.flags & model::kHasResidual) != 0) {
      epilogue.flags = 0;
      epilogue.epilogue = {Activation::kNone, 0, 0, 1, 0};
    }
    w.product_ = std::make_unique<PixelProduct>(deconv ? in : taps * in, deconv ? taps * out : out,
                                                std::move(w.values_), std::move(w.bias_), epilogue,
                                                machine.engine, machine.threads);
    w.values_.clear();
    w.bias_.clear();
  }
  return made;
}

memory ConvWeights::in_layout(const memory::desc& layout, const dnnl::engine& engine) {
  for (const auto& [known, made] : layouts_) {
    if (known == layout) return made;
  }
  const memory::desc plain({out_, in_, kh_, kw_}, kF32, Tag::hwio);
  memory from(plain, engine, values_.data());
  memory to(layout, engine);
  dnnl::stream stream(engine);
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  if (layouts_.size() == kMostLayouts) layouts_.erase(layouts_.begin());
  layouts_.emplace_back(layout, to);
  return to;
}

std::size_t ConvWeights::bytes() const {
  std::size_t sum = (values_.size() + bias_.size()) * sizeof(float);
  for (const auto& [layout, made] : layouts_) sum += layout.get_size();
  return sum + (product_ != nullptr ? product_->bytes() : 0);
}

Step convolution(const model::Node& node, const Dims& in, const Dims& out, ConvWeights& weights,
                 const Machine& machine) {
  if (node.op == Op::kDepthwise) return depthwise(node, in, out, weights);
  if (weights.product() == nullptr) return whole(node, in, out, weights, machine);
  return is_pointwise(node) ? pointwise(node, in, out, weights, machine)
                            : gathered(node, in, out, weights, machine);
}

}  // namespace spirkiln::cpu
