// SPDX-License-Identifier: Apache-2.0
#include "cpu/convolution.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "cpu/activation.hpp"
#include "cpu/loops.hpp"

namespace spirkiln::cpu {
namespace {

using model::Activation;
using model::Op;

// What a worker gathers of the input for one stretch stays in its second-level cache.
constexpr std::size_t kGathered = std::size_t{256} << 10;

std::size_t attribute(const model::Node& node, int i) {
  return static_cast<std::size_t>(node.i[i]);
}

// Each output pixel is made of the input pixel at the same place alone.
bool is_pointwise(const model::Node& node) {
  const std::int32_t* i = node.i;
  return node.op == Op::kDeconv || (i[0] == 1 && i[1] == 1 && i[2] == 1 && i[3] == 1 && i[4] == 0 &&
                                    i[5] == 0 && i[6] == 0 && i[7] == 0);
}

// Part of a row of the output, for one worker.
struct Part {
  std::size_t row, first, pixels;
};

// Rows in parts that are many enough for the workers, each as long as may be.
std::vector<Part> parts_of(std::size_t rows, std::size_t width, std::size_t longest, int workers) {
  const std::size_t wanted = workers > 1 ? static_cast<std::size_t>(workers) * 4 : 1;
  std::size_t length = longest;
  for (const std::size_t shorter : {std::size_t{128}, std::size_t{32}}) {
    if (rows * (width / length) < wanted && shorter < length) length = shorter;
  }
  std::vector<Part> parts;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t first = 0;
    for (; width - first >= length + 8; first += length) parts.push_back({row, first, length});
    parts.push_back({row, first, width - first});
  }
  return parts;
}

// kh rows of the input as output pixels [first, first + ...) of row `oy` see them, `seen` pixels of
// each; padding is 0.
SPIRKILN_VECTOR_LOOP void gather(const std::int32_t* i, const Dims& in, const float* x,
                                 std::size_t oy, std::size_t first, std::size_t seen, float* to) {
  const auto h = static_cast<std::ptrdiff_t>(in.h), w = static_cast<std::ptrdiff_t>(in.w);
  const auto n = static_cast<std::ptrdiff_t>(seen);
  const std::size_t c = in.c;
  const std::ptrdiff_t left = static_cast<std::ptrdiff_t>(first) * i[3] - i[5];
  const std::ptrdiff_t begin = std::clamp<std::ptrdiff_t>(-left, 0, n);
  const std::ptrdiff_t end = std::clamp<std::ptrdiff_t>(w - left, begin, n);
  for (std::ptrdiff_t ky = 0; ky < i[0]; ++ky, to += seen * c) {
    const std::ptrdiff_t y = static_cast<std::ptrdiff_t>(oy) * i[2] - i[4] + ky * i[8];
    const bool inside = y >= 0 && y < h;
    const std::size_t from = inside ? static_cast<std::size_t>(begin) : seen;
    const std::size_t until = inside ? static_cast<std::size_t>(end) : seen;
    std::fill_n(to, from * c, 0.0f);
    if (until > from) {
      std::memcpy(to + from * c, x + static_cast<std::size_t>(y * w + left + begin) * c,
                  (until - from) * c * sizeof(float));
    }
    std::fill_n(to + until * c, (seen - until) * c, 0.0f);
  }
}

// `n` floats; the shortest that the graphs have without a loop.
inline void copy(const float* from, std::size_t n, float* to) {
  if (n == 2) {  // the map of a detection
    std::memcpy(to, from, 2 * sizeof(float));
  } else {
    for (std::size_t k = 0; k < n; ++k) to[k] = from[k];
  }
}

// Of `pixels` input pixels, kh * block numbers each, the block of one output row.
SPIRKILN_VECTOR_LOOP void spread(const float* from, std::size_t pixels, std::size_t kh,
                                 std::size_t block, float* to) {
  for (std::size_t x = 0; x < pixels; ++x) copy(from + x * kh * block, block, to + x * block);
}

Step pointwise(const model::Node& node, const Dims& in, const Dims& out, RowConvolution& rows,
               const Machine& machine) {
  const std::size_t pixels = in.pixels(), in_c = in.c, out_c = out.c;
  const int workers = worth(pixels * (in_c + out_c) * 4, machine.threads);
  constexpr std::size_t kLongest = RowConvolution::kLengths[0];
  const std::vector<Part> parts = parts_of(1, pixels, kLongest, workers);
  for (const Part& p : parts) rows.prepare(p.pixels, kLongest);
  const bool residual = (node.flags & model::kHasResidual) != 0;
  const std::size_t residual_at = node.input_count - 1;
  Step step;
  step.run = [=, &rows](const StepArgs& a) {
    each_task(parts.size(), workers, [&](std::size_t task, int worker) {
      const Part& part = parts[task];
      RowConvolution::cover(part.pixels, kLongest, [&](std::size_t at, std::size_t length) {
        const std::size_t p = part.first + at;
        rows.run(length, a.in[0] + p * in_c, residual ? a.in[residual_at] + p * out_c : nullptr,
                 a.out + p * out_c, worker);
      });
    });
  };
  return step;
}

// A transposed convolution: a product gives all values of an input pixel side by side, which are
// then spread over kh rows. Where it has a residual, its epilogue comes after that.
Step transposed(const model::Node& node, const Dims& in, const Dims& out, RowConvolution& rows,
                const Machine& machine) {
  constexpr std::size_t kLongest = RowConvolution::kLengths[0];
  const int workers = worth(values_of(in) * 4 + values_of(out) * 4, machine.threads);
  const std::vector<Part> parts = parts_of(in.h, in.w, kLongest, workers);
  for (const Part& p : parts) rows.prepare(p.pixels, kLongest);
  const std::size_t kh = attribute(node, 0), block = attribute(node, 1) * out.c;
  const std::size_t tile = (std::min<std::size_t>(in.w, kLongest) * kh * block + 15) / 16 * 16;
  const bool residual = (node.flags & model::kHasResidual) != 0;
  const bool before = (node.flags & model::kResidualBefore) != 0;
  const std::size_t residual_at = node.input_count - 1;
  const model::Epilogue epilogue = node.epilogue;
  Step step;
  step.scratch_bytes = static_cast<std::size_t>(workers) * tile * sizeof(float);
  step.run = [=, &rows](const StepArgs& a) {
    each_task(parts.size(), workers, [&](std::size_t task, int worker) {
      const Part& part = parts[task];
      float* made = reinterpret_cast<float*>(a.scratch) + static_cast<std::size_t>(worker) * tile;
      RowConvolution::cover(part.pixels, kLongest, [&](std::size_t at, std::size_t length) {
        const std::size_t first = part.first + at;
        rows.run(length, a.in[0] + (part.row * in.w + first) * in.c, nullptr, made, worker);
        for (std::size_t ky = 0; ky < kh; ++ky) {
          const std::size_t to = ((part.row * kh + ky) * in.w + first) * block;
          spread(made + ky * block, length, kh, block, a.out + to);
          if (!residual) continue;
          finish(epilogue, before, a.out + to, a.in[residual_at] + to, a.out + to, length * block);
        }
      });
    });
  };
  return step;
}

Step windowed(const model::Node& node, const Dims& in, const Dims& out, RowConvolution& rows,
              const Machine& machine) {
  const std::size_t kh = attribute(node, 0);
  std::size_t longest = 1;
  for (const std::size_t length : RowConvolution::kLengths) {
    if (rows.seen(length) * kh * in.c * sizeof(float) > kGathered && length > 8) continue;
    longest = length;
    break;
  }
  const std::size_t window = kh * attribute(node, 1) * in.c;
  const int workers = worth(values_of(out) * window / 8, machine.threads);
  const std::vector<Part> parts = parts_of(out.h, out.w, longest, workers);
  for (const Part& p : parts) rows.prepare(p.pixels, longest);
  const bool residual = (node.flags & model::kHasResidual) != 0;
  const std::size_t residual_at = node.input_count - 1;
  const std::size_t gathered = (rows.seen(longest) * kh * in.c + 15) / 16 * 16;
  Step step;
  step.scratch_bytes = static_cast<std::size_t>(workers) * gathered * sizeof(float);
  step.run = [=, &rows, i = std::to_array(node.i)](const StepArgs& a) {
    each_task(parts.size(), workers, [&](std::size_t task, int worker) {
      const Part& part = parts[task];
      float* x = reinterpret_cast<float*>(a.scratch) + static_cast<std::size_t>(worker) * gathered;
      RowConvolution::cover(part.pixels, longest, [&](std::size_t at, std::size_t length) {
        const std::size_t first = part.first + at, to = (part.row * out.w + first) * out.c;
        gather(i.data(), in, a.in[0], part.row, first, rows.seen(length), x);
        rows.run(length, x, residual ? a.in[residual_at] + to : nullptr, a.out + to, worker);
      });
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
  const std::vector<float> scale = floats_of(model, consts[1]), bias = floats_of(model, consts[2]);
  const std::size_t taps = attribute(node, 0) * attribute(node, 1), in = attribute(node, 10),
                    out = attribute(node, 11);
  std::vector<float> values;
  // Rows of padded outputs: [tap] of a depthwise one, [in][tap] of a transposed one, [tap][in],
  // each padded to four in the pack.
  const bool deconv = node.op == Op::kDeconv, depthwise = node.op == Op::kDepthwise;
  float worst = 0;
  values.resize(taps * (depthwise ? 1 : in) * out);
  float* next = values.data();
  const auto put_row = [&](std::size_t row) {
    floats_of(model, consts[0], row * cpad(out), out, next);
    for (std::size_t o = 0; o < out; ++o) {
      next[o] *= scale[o];
      worst += next[o] - next[o];  // NaN once one is not finite
    }
    next += out;
  };
  for (std::size_t t = 0; t < taps; ++t) {
    if (depthwise) put_row(t);
    for (std::size_t k = 0; k < in && !depthwise; ++k) {
      put_row(deconv ? t * in + k : t * cpad(in) + k);  // a transposed one has no gaps in its rows
    }
  }
  for (std::size_t k = 0; k < (deconv ? taps : 1); ++k) {
    w.bias.insert(w.bias.end(), bias.begin(), bias.begin() + static_cast<std::ptrdiff_t>(out));
  }
  if (worst != 0) {
    return Error{ErrorCode::kNotFinite, model.origin + ": weights and scale of " +
                                            std::string(model.string(node.name)) +
                                            " give NaN or infinity as 32-bit floats"};
  }
  if (depthwise) {
    w.filters = std::move(values);
    return made;
  }
  RowConvolution::Window window{
      in, out, attribute(node, 0), attribute(node, 1), attribute(node, 3), attribute(node, 9)};
  model::Node own = node;
  if (deconv) {
    window = {in, taps * out};
    if ((node.flags & model::kHasResidual) != 0) {
      own.flags = 0;
      own.epilogue = {Activation::kNone, 0, 0, 1, 0};
    }
  }
  w.rows = std::make_unique<RowConvolution>(window, std::move(values), std::move(w.bias), own,
                                            machine.engine, machine.threads);
  w.bias.clear();
  return made;
}

std::size_t ConvWeights::bytes() const {
  return (filters.size() + bias.size()) * sizeof(float) + (rows != nullptr ? rows->bytes() : 0);
}

Step convolution(const model::Node& node, const Dims& in, const Dims& out, ConvWeights& weights,
                 const Machine& machine) {
  if (node.op == Op::kDepthwise) return depthwise(node, in, out, weights, machine.threads);
  if (node.op == Op::kDeconv) return transposed(node, in, out, *weights.rows, machine);
  return is_pointwise(node) ? pointwise(node, in, out, *weights.rows, machine)
                            : windowed(node, in, out, *weights.rows, machine);
}

}  // namespace spirkiln::cpu
