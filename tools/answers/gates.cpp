// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "families.hpp"

namespace spirkiln::answers {
namespace {

using model::Op;

// A case of scaled() or widely_scaled(): the gate on a mean of a picture, and the product of both.
struct Scaled {
  model::Node mean{}, product;
  OfLowering lowered = Lowered{};  // its inputs and constants are numbered as the case's
};

Scaled lower_scaled(const Case& c, const DeviceTraits& traits) {
  const Dims& x = c.dims[0];
  const Dims mean{x.n, 1, 1, x.c};
  Scaled s;
  s.mean.op = Op::kGlobalMean;
  s.mean.epilogue.post_scale = 1;
  s.product = c.node;
  s.product.op = Op::kBinary;
  s.product.i[0] = static_cast<std::int32_t>(model::BinaryOp::kMul);
  s.product.flags = c.inputs.size() > 1 ? model::kHasResidual : 0u;
  std::vector<Dims> dims{x, mean};
  if (s.product.flags != 0) dims.push_back(x);
  s.lowered = lower_scale({s.mean, {x}, mean, traits}, {c.node, {mean}, mean, traits},
                          {s.product, dims, x, traits});
  if (!s.lowered) return s;
  // The gate, input 1 of the product, is no buffer.
  for (Dispatch& d : s.lowered->dispatches) {
    for (BufferRef& ref : d.buffers) {
      if (ref.kind == BufferKind::kInput && ref.index == 2) ref.index = 1;
    }
  }
  return s;
}

// The picture times its gate, with what rounding does to mean and gate, through activations of
// slopes below two.
oracle::Tensor product_of(const Case& c, const model::Node& product, const oracle::Tensor& picture,
                          const oracle::Tensor& gate) {
  const Dims& x = c.dims[0];
  std::vector<oracle::Tensor> inputs{picture, {gate.dims, gate.v, {}}};
  if (product.flags != 0) inputs.push_back(tight(c.inputs[1], x));
  oracle::Tensor t = oracle::run(product, inputs, {}, x);
  const double slope = 2 * std::abs(double{product.epilogue.post_scale});
  for (std::size_t i = 0; i < t.mag.size(); ++i) {
    const std::size_t g = i / (std::size_t{x.h} * x.w * x.c) * x.c + i % x.c;
    if (!c.subnormal) t.mag[i] += slope * std::abs(picture.v[i]) * 2 * gate.mag[g];
  }
  return t;
}

}  // namespace

// Mean, gate and product in one kernel.
void add_scaled(Writer* out, const Case& c) {
  const Scaled scaled = lower_scaled(c, gpu());
  auto d = taken(out, "squeeze_excite_scale", scaled.lowered);
  if (!d) return;
  const Dims& x = c.dims[0];
  const Dims mean{x.n, 1, 1, x.c};
  const oracle::Tensor picture = tight(c.inputs[0], x);
  const oracle::Tensor means = oracle::run(scaled.mean, {picture}, {}, mean);
  const oracle::Tensor gate = oracle::run(c.node, {{mean, means.v, {}}}, values_of(c.consts), mean);
  d->groups[0] = 2;  // as a larger picture has
  out->add(*d, 0, c, stored(product_of(c, scaled.product, picture, gate), false), bind_case(c));
}

// The two halves of squeeze-and-excite, each by itself: what lies between them is floats. The
// picture has two pieces and two slices of channels.
void add_halves(Writer* out, const Case& c) {
  DeviceTraits traits = gpu();
  traits.without = {"squeeze_excite_scale"};
  const Scaled scaled = lower_scaled(c, traits);
  const auto first_half = taken(out, "squeeze", scaled.lowered),
             second_half = taken(out, "excite", scaled.lowered, 1);
  if (!first_half || !second_half) return;
  const Dims& x = c.dims[0];
  const auto consts = values_of(c.consts);
  const oracle::Tensor picture = tight(c.inputs[0], x);
  const std::uint32_t middle = static_cast<std::uint32_t>(c.node.i[12]), mid = (middle + 3) / 4 * 4,
                      hw = x.h * x.w;

  Dispatch squeeze = *first_half;
  const std::uint32_t piece = squeeze.push[3] = 8, slice = squeeze.local_size[0] * 4;
  squeeze.groups[1] = (hw - 1) / piece + 1;
  const std::uint32_t parts = squeeze.groups[0] * squeeze.groups[1];
  Result sums{AnswerKind::kFloat, {}, 0};
  for (std::uint32_t n = 0; n < x.n; ++n) {
    for (std::uint32_t k = 0; k < parts; ++k) {
      const std::uint32_t first = k / squeeze.groups[0] * piece, c0 = k % squeeze.groups[0] * slice;
      for (std::uint32_t m = 0; m < mid; ++m) {
        double sum = 0, mag = 0;
        for (std::uint32_t i = first; i < std::min(first + piece, hw); ++i) {
          for (std::uint32_t ch = c0; ch < std::min(c0 + slice, x.c); ++ch) {
            const double v = picture.v[(std::size_t{n} * hw + i) * x.c + ch] *
                             consts[0][std::size_t{ch} * mid + m];
            sum += v;
            mag += std::abs(v);
          }
        }
        sums.values.push_back(m < middle ? sum : std::numeric_limits<double>::quiet_NaN());
        sums.mag = std::max(sums.mag, mag);
      }
    }
  }
  Case exact = c;
  exact.step = exact.subnormal ? 0x1p-24 : 0;
  out->add(squeeze, 0, exact, sums, bind_case(c));

  Dispatch excite = *second_half;
  excite.local_size[1] = 4;
  excite.groups[1] = 2;
  excite.push[27] = parts;
  Data between = tensor({x.n, 1, parts, middle}, 360, Numbers::kOrdinary);
  between.kind = AnswerKind::kFloat;
  between.seed.range = c.subnormal ? 0 : 16;  // 0: a gate of its bias, which is 1
  model::Epilogue mid_act{static_cast<model::Activation>(c.node.i[13]), c.node.f[0], c.node.f[1], 1,
                          0};
  oracle::Tensor gate{{x.n, 1, 1, x.c}, {}, {}};
  for (std::uint32_t n = 0; n < x.n; ++n) {
    std::vector<double> hidden(mid), hidden_mag(mid);
    for (std::uint32_t m = 0; m < middle; ++m) {
      double sum = 0, mag = 0;
      for (std::uint32_t k = 0; k < parts; ++k) {
        const double v = double{value_of(between, (n * parts + k) * mid + m)} / hw;
        sum += v;
        mag += std::abs(v);
      }
      hidden[m] = oracle::activation(mid_act, sum * consts[1][m] + consts[2][m]);
      hidden_mag[m] = mag * std::abs(consts[1][m]) + std::abs(consts[2][m]);
    }
    for (std::uint32_t ch = 0; ch < x.c; ++ch) {
      double sum = 0, mag = 0;
      for (std::uint32_t m = 0; m < middle; ++m) {
        const double w = consts[3][std::size_t{m} * x.c4() * 4 + ch];
        sum += hidden[m] * w;
        mag += hidden_mag[m] * std::abs(w);
      }
      const double v = oracle::activation(c.node.epilogue, sum * consts[4][ch] + consts[5][ch]);
      gate.v.push_back(v * c.node.epilogue.post_scale + c.node.epilogue.post_bias);
      gate.mag.push_back(mag * std::abs(consts[4][ch]) + std::abs(consts[5][ch]));
    }
  }
  const oracle::Tensor t = product_of(c, scaled.product, picture, gate);
  out->add(excite, 0, c, stored(t, false), [&](const BufferRef& ref) {
    return ref.kind == BufferKind::kScratch ? &between : bind_case(c)(ref);
  });
}

// Both phases of the mean, each by itself: what lies between them is floats.
void add_mean(Writer* out, Numbers numbers) {
  const Case first = mean(numbers, {2, 13, 17, 6});
  const auto found = taken(out, "mean_partial",
                           lower_node({first.node, first.dims, first.output, small_groups()}));
  if (!found) return;
  const Dispatch& part = *found;
  const std::uint32_t hw = part.push[0], piece = part.push[3], pieces = part.push[4];
  const oracle::Tensor x = tight(first.inputs[0], first.dims[0]);
  Result sums{AnswerKind::kFloat, {}, 0};
  for (std::uint32_t n = 0; n < x.dims.n; ++n) {
    for (std::uint32_t k = 0; k < pieces; ++k) {
      for (std::uint32_t c = 0; c < x.dims.c4() * 4; ++c) {
        double sum = 0, mag = 0;
        for (std::uint32_t i = k * piece; i < std::min((k + 1) * piece, hw) && c < x.dims.c; ++i) {
          const double v = x.v[(std::size_t{n} * hw + i) * x.dims.c + c];
          sum += v;
          mag += std::abs(v);
        }
        sums.values.push_back(c < x.dims.c ? sum : std::numeric_limits<double>::quiet_NaN());
        sums.mag = std::max(sums.mag, mag);
      }
    }
  }
  Case exact = first;
  exact.step = exact.subnormal ? 0x1p-24 : 0;
  out->add(part, 0, exact, sums, [&](const BufferRef& ref) -> const Data* {
    return ref.kind == BufferKind::kInput ? &first.inputs[0] : nullptr;
  });

  // A mean of `pieces` sums is that of a picture of so many pixels.
  Case second = mean(numbers, {3, 13, 17, 42});
  const auto last =
      taken(out, "mean_final", lower_node({second.node, second.dims, second.output, gpu()}), -1);
  if (!last) return;
  Dispatch sum = *last;
  const std::uint32_t count = sum.push[9];
  const float factor = 1.0f / static_cast<float>(count);
  std::memcpy(&sum.push[10], &factor, sizeof factor);
  Data partial = tensor({3, 1, count, 42}, 202, Numbers::kOrdinary);
  partial.kind = AnswerKind::kFloat;
  if (second.subnormal) partial.seed.range = 0x1p-12f;
  second.dims[0] = {3, 1, count, 42};
  second.inputs[0] = partial;
  const auto bind = [&](const BufferRef& ref) -> const Data* {
    if (ref.kind == BufferKind::kScratch) return &second.inputs[0];
    return ref.kind == BufferKind::kInput ? &second.inputs[1] : nullptr;
  };
  out->add(sum, 0, second, result_of(second), bind);
  if (second.subnormal) return;
  const Case alone = plain(second);
  sum.specs.clear();
  sum.local_size[1] = 1;  // as a CPU driver runs it: its graphs have the same pipeline
  out->add(sum, 0, alone, result_of(alone), bind);
}

// The gate that takes its mean itself: of pixels, and of sums.
void add_gates_of_means(Writer* out) {
  const Case gate = plain(squeeze_excite(Numbers::kOrdinary));
  const Dims picture{gate.output.n, 7, 9, gate.dims[0].c};  // more rows than loads that overlap
  Case mean;
  mean.node.op = Op::kGlobalMean;
  mean.node.epilogue = {model::Activation::kNone, 0, 0, 1, 0};
  mean.output = gate.dims[0];
  auto lowered = lower_gate({mean.node, {picture}, mean.output, gpu()},
                            {gate.node, gate.dims, gate.output, gpu()});
  auto found = taken(out, "squeeze_excite", lowered, -1);
  if (!found) return;
  Dispatch& d = *found;
  const auto source = std::find_if(d.specs.begin(), d.specs.end(),
                                   [](const SpecChoice& s) { return s.name == "source"; });
  if (source == d.specs.end() || source->bits != 1) {
    out->leave_out(d.kernel, "the gate takes no mean of pixels", std::source_location::current());
    return;
  }
  // From 0 to 1: a mean far from 0, without which another result would come out.
  const auto pixels = [&](std::uint32_t seed) {
    Data data = tensor(picture, seed, Numbers::kOrdinary);
    data.seed.centre = data.seed.range = 0.5f;
    return data;
  };
  const Data x = pixels(218), other = pixels(219);
  const auto add = [&](const Data& mean_of, const Data& input) {
    const oracle::Tensor m = oracle::run(mean.node, {tight(mean_of, picture)}, {}, mean.output);
    out->add(d, 0, gate, result_of(gate, {m}), [&](const BufferRef& ref) -> const Data* {
      if (ref.kind == BufferKind::kInput) return &input;
      if (ref.kind == BufferKind::kScratch) return &mean_of;
      return ref.kind == BufferKind::kConst ? &gate.consts.at(ref.index) : nullptr;
    });
  };
  add(x, x);
  // Each pixel a sum of one.
  source->bits = 2;
  d.buffers.back() = {BufferKind::kScratch, 0};
  Data sums = x;
  sums.kind = AnswerKind::kFloat;
  add(sums, other);
}

}  // namespace spirkiln::answers
