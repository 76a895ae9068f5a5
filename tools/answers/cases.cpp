// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <algorithm>
#include <cmath>

namespace spirkiln::answers {
namespace {

using model::Op;

constexpr float kPadding = 100;  // in padding lanes: a kernel that used them would be far off
constexpr float kHalfStep = 0x1p-24f;  // of subnormal halves

std::uint32_t pad4(std::uint32_t c) { return (c + 3) / 4 * 4; }

Case make(Op op, Numbers numbers, std::initializer_list<std::int32_t> ints = {}) {
  Case c;
  c.node.op = op;
  std::copy(ints.begin(), ints.end(), c.node.i);
  c.subnormal = numbers == Numbers::kSubnormal;
  // Nothing that would lift a subnormal.
  c.node.epilogue =
      c.subnormal ? model::Epilogue{model::Activation::kNone, 0, 0, 1, 0}
                  : model::Epilogue{model::Activation::kHardSwish, 1.0f / 6, 0.5f, 1.25f, -0.5f};
  if (c.subnormal) c.step = kHalfStep;
  return c;
}

Numbers numbers_of(const Case& c) { return c.subnormal ? Numbers::kSubnormal : Numbers::kOrdinary; }

void add_input(Case* c, const Dims& dims, std::uint32_t seed) {
  c->dims.push_back(dims);
  c->inputs.push_back(tensor(dims, seed, numbers_of(*c)));
}

// Behind the activation, as the last input.
void add_residual(Case* c, std::uint32_t seed) {
  c->node.flags |= model::kHasResidual;
  add_input(c, c->output, seed);
}

// Subnormals times whole numbers stay whole multiples of the step.
Data weights(std::uint32_t rows, std::uint32_t columns, std::uint32_t seed, Numbers numbers,
             std::uint32_t period, std::uint32_t used_rows) {
  Data d{AnswerKind::kTensor, rows * pad4(columns), {}};
  d.seed.seed = seed;
  d.seed.row = pad4(columns);
  d.seed.used = columns;
  d.seed.rows = period;
  d.seed.used_rows = used_rows;
  if (numbers == Numbers::kSubnormal) {
    d.seed.steps = 2;
    d.seed.range = 2;
  }
  return d;
}

// One number a channel, in single precision.
Data channels(std::uint32_t c, std::uint32_t seed, float centre, float range) {
  Data d{AnswerKind::kFloat, pad4(c), {}};
  d.seed.seed = seed;
  d.seed.row = pad4(c);
  d.seed.used = c;
  d.seed.centre = centre;
  d.seed.range = range;
  return d;
}

void add_scale_and_bias(Case* c, std::uint32_t count, std::uint32_t seed) {
  const bool plain = c->subnormal;
  c->consts.push_back(plain ? channels(count, seed, 1, 0) : channels(count, seed, 0.625f, 0.375f));
  c->consts.push_back(plain ? channels(count, seed, 0, 0) : channels(count, seed + 1, 0, 1));
}

// Numbers of which results are no whole multiples of anything: as fine as subnormals are.
void use_fine_subnormals(Data* d) {
  d->seed.steps = 1024;
  d->seed.range = 1024 * kHalfStep;
}

}  // namespace

Data tensor(const Dims& dims, std::uint32_t seed, Numbers numbers) {
  Data d{AnswerKind::kTensor, static_cast<std::uint32_t>(dims.vectors() * 4), {}};
  d.seed.seed = seed;
  d.seed.row = dims.c4() * 4;
  d.seed.used = dims.c;
  d.seed.rest = kPadding;
  if (numbers == Numbers::kSubnormal) {
    d.seed.steps = 16;
    d.seed.range = 16 * kHalfStep;
  }
  return d;
}

Case pointwise(Numbers numbers, std::uint32_t rows, std::uint32_t inputs) {
  constexpr std::uint32_t kOut = 22;
  Case c = make(Op::kConv, numbers,
                {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, static_cast<std::int32_t>(inputs), kOut});
  c.output = {1, 1, rows, kOut};
  add_input(&c, {1, 1, rows, inputs}, 100);
  add_residual(&c, 101);
  c.consts = {weights(pad4(inputs), kOut, 102, numbers, pad4(inputs), inputs)};
  add_scale_and_bias(&c, kOut, 103);
  return c;
}

Case window(Numbers numbers, std::uint32_t lines) {
  constexpr std::uint32_t kIn = 5, kOut = 22;
  Case c = make(Op::kConv, numbers, {3, 3, 2, 1, 1, 2, 1, 1, 1, 1, kIn, kOut});
  c.output = {1, lines, 5, kOut};
  add_input(&c, {1, 2 * lines - 1, 4, kIn}, 110);
  add_residual(&c, 111);
  c.consts = {weights(9 * pad4(kIn), kOut, 112, numbers, pad4(kIn), kIn)};
  add_scale_and_bias(&c, kOut, 113);
  return c;
}

Case small_window(Numbers numbers) {
  constexpr std::uint32_t kIn = 3, kOut = 22;
  Case c = make(Op::kConv, numbers, {3, 2, 1, 2, 1, 1, 1, 0, 1, 1, kIn, kOut});
  c.output = {1, 9, 8, kOut};
  add_input(&c, {1, 9, 15, kIn}, 115);
  add_residual(&c, 116);
  c.consts = {weights(6 * pad4(kIn), kOut, 117, numbers, pad4(kIn), kIn)};
  add_scale_and_bias(&c, kOut, 118);
  return c;
}

Case wide_window(Numbers numbers) {
  constexpr std::uint32_t kIn = 16, kOut = 32;
  Case c = make(Op::kConv, numbers, {3, 2, 1, 1, 1, 0, 1, 1, 1, 1, kIn, kOut});
  c.output = {1, 5, 3, kOut};
  add_input(&c, {1, 5, 3, kIn}, 120);
  add_residual(&c, 121);
  c.consts = {weights(6 * kIn, kOut, 122, numbers, 1, 1)};
  add_scale_and_bias(&c, kOut, 123);
  return c;
}

Case stem(Numbers numbers, const Data& bytes) {
  constexpr std::uint32_t kOut = 14;
  Case c = make(Op::kConv, numbers, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 3, kOut});
  c.output = {2, 5, 9, kOut};
  c.dims = {{2, 10, 17, 3}};
  c.inputs = {bytes};
  c.consts = {weights(9 * 4, kOut, 126, numbers, 4, 3)};
  add_scale_and_bias(&c, kOut, 127);
  return c;
}

Case depthwise(Numbers numbers) {
  constexpr std::uint32_t kChannels = 6;
  Case c = make(Op::kDepthwise, numbers, {3, 3, 2, 1, 1, 1, 1, 1, 1, 1, kChannels, kChannels});
  c.output = {1, 5, 7, kChannels};
  add_input(&c, {1, 9, 7, kChannels}, 130);
  add_residual(&c, 131);
  c.consts = {weights(9, kChannels, 132, numbers, 1, 1)};
  add_scale_and_bias(&c, kChannels, 133);
  return c;
}

Case wide_depthwise(Numbers numbers) {
  constexpr std::uint32_t kChannels = 6;
  Case c = make(Op::kDepthwise, numbers, {5, 5, 1, 2, 2, 2, 2, 2, 1, 1, kChannels, kChannels});
  c.output = {1, 5, 4, kChannels};
  add_input(&c, {1, 5, 7, kChannels}, 135);
  add_residual(&c, 136);
  c.consts = {weights(25, kChannels, 137, numbers, 1, 1)};
  add_scale_and_bias(&c, kChannels, 138);
  return c;
}

Separable separable(Numbers numbers, bool wide) {
  constexpr std::int32_t kChannels = 22, kOut = 24;
  const std::uint32_t seed = wide ? 300 : 310;
  Separable s;
  Case& w = s.window;
  w = wide ? make(Op::kDepthwise, numbers, {5, 5, 1, 1, 2, 2, 2, 2, 1, 1, kChannels, kChannels})
           : make(Op::kDepthwise, numbers, {3, 3, 2, 2, 1, 1, 1, 0, 1, 1, kChannels, kChannels});
  w.output = wide ? Dims{1, 5, 8, kChannels} : Dims{2, 5, 4, kChannels};
  add_input(&w, wide ? w.output : Dims{2, 9, 8, kChannels}, seed);
  w.consts = {weights(wide ? 25 : 9, kChannels, seed + 1, numbers, 1, 1)};
  add_scale_and_bias(&w, kChannels, seed + 2);
  Case& p = s.point;
  p = make(Op::kConv, numbers, {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, kChannels, kOut});
  p.output = w.output;
  p.output.c = kOut;
  p.dims = {w.output};
  p.inputs = {tensor(w.output, 0, numbers)};  // what the window makes stands for it
  add_residual(&p, seed + 4);
  p.consts = {weights(pad4(kChannels), kOut, seed + 5, numbers, pad4(kChannels), kChannels)};
  add_scale_and_bias(&p, kOut, seed + 6);
  p.step = 0;  // sums that leave the subnormals are rounded
  return s;
}

std::vector<Case> transformer(Numbers numbers, model::Activation act, bool last_norm) {
  constexpr std::int32_t kHeads = 2, kChannels = 24, kBetween = kHeads * 16, kHidden = 40;
  const Dims x{2, 1, 21, kChannels};
  std::uint32_t seed = 320;
  const auto norm = [&] {
    Case c = make(Op::kLayerNorm, Numbers::kOrdinary);
    c.node.f[0] = 1e-5f;
    c.output = x;
    c.dims = {x};
    add_scale_and_bias(&c, kChannels, seed);
    seed += 2;
    return c;
  };
  const auto product = [&](std::int32_t in, std::int32_t out, bool residual) {
    Case c = make(Op::kConv, Numbers::kOrdinary, {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, in, out});
    c.output = x;
    c.output.c = static_cast<std::uint32_t>(out);
    c.dims = {x};
    c.dims[0].c = static_cast<std::uint32_t>(in);
    if (residual) c.node.flags = model::kHasResidual;
    if (residual) c.dims.push_back(c.output);
    const std::uint32_t k = c.dims[0].c;
    c.consts = {weights(pad4(k), c.output.c, seed, Numbers::kOrdinary, pad4(k), k)};
    add_scale_and_bias(&c, c.output.c, seed + 1);
    seed += 3;
    return c;
  };
  std::vector<Case> nodes{norm(), product(kChannels, 3 * kBetween, false)};
  Case& attention = nodes.emplace_back(make(Op::kAttention, Numbers::kOrdinary, {kHeads, 16}));
  attention.node.f[0] = 0.0625f;  // rows weigh alike enough for all of them to count
  attention.dims = {nodes[1].output};
  attention.output = x;
  attention.output.c = kBetween;
  nodes.push_back(product(kBetween, kChannels, true));
  nodes.push_back(norm());
  nodes.push_back(product(kChannels, kHidden, false));
  nodes.push_back(product(kHidden, kChannels, true));
  if (last_norm) nodes.push_back(norm());
  const model::Epilogue lines = nodes[0].node.epilogue;
  for (Case& c : nodes) c.node.epilogue = {model::Activation::kNone, 0, 0, 1, 0};
  if (act == model::Activation::kHardSwish) {
    nodes[5].node.epilogue = lines;
  } else {
    nodes[5].node.epilogue.act = act;
  }
  nodes[0].inputs = {tensor(x, seed, numbers)};
  if (numbers == Numbers::kSubnormal) {
    // Products of nothing: what goes in is what comes out.
    for (Case* c : {&nodes[3], &nodes[6]}) {
      c->consts[1] = channels(kChannels, seed, 0, 0);
      c->consts[2] = channels(kChannels, seed, 0, 0);
    }
    nodes[6].subnormal = true;
    nodes[6].step = kHalfStep;
  }
  return nodes;
}

Case transposed(Numbers numbers, std::uint32_t inputs) {
  constexpr std::uint32_t kOut = 7;
  Case c = make(Op::kDeconv, numbers,
                {2, 2, 2, 2, 0, 0, 0, 0, 1, 1, static_cast<std::int32_t>(inputs), kOut});
  c.output = {1, 6, 12, kOut};
  add_input(&c, {1, 3, 6, inputs}, 140);
  add_residual(&c, 141);
  c.consts = {weights(pad4(inputs) * 4, kOut, 142, numbers, pad4(inputs) * 4, inputs * 4)};
  add_scale_and_bias(&c, kOut, 143);
  return c;
}

Case one_channel(Numbers numbers, std::uint32_t width) {
  constexpr std::uint32_t kIn = 22;
  Case c = make(Op::kDeconv, numbers, {2, 2, 2, 2, 0, 0, 0, 0, 1, 1, kIn, 1});
  c.output = {2, 10, 2 * width, 1};
  add_input(&c, {2, 5, width, kIn}, 145);
  c.consts = {weights(pad4(kIn) * 4, 1, 146, numbers, pad4(kIn) * 4, kIn * 4)};
  add_scale_and_bias(&c, 1, 147);
  return c;
}

Case affine(Numbers numbers) {
  Case c = make(Op::kAffine, numbers);
  c.output = {1, 7, 5, 6};
  add_input(&c, c.output, 150);
  add_residual(&c, 151);
  add_scale_and_bias(&c, c.output.c, 152);
  return c;
}

Case binary(Numbers numbers) {
  const auto op = numbers == Numbers::kSubnormal ? model::BinaryOp::kAdd : model::BinaryOp::kMul;
  Case c = make(Op::kBinary, numbers, {static_cast<std::int32_t>(op)});
  c.output = {2, 3, 5, 7};
  add_input(&c, c.output, 160);
  add_input(&c, c.output, 161);
  add_residual(&c, 162);
  return c;
}

Case gated(Numbers numbers) {
  Case c = binary(numbers);
  c.dims[1] = {c.output.n, 1, 1, c.output.c};
  c.inputs[1] = tensor(c.dims[1], 163, numbers);
  return c;
}

Case resize(Numbers numbers) {
  Case c = make(Op::kResize, numbers, {2, 3});
  c.output = {1, 6, 9, 7};
  add_input(&c, {1, 3, 3, 7}, 170);
  add_residual(&c, 171);
  return c;
}

Case concat(Numbers numbers, const std::vector<std::uint32_t>& widths) {
  Case c = make(Op::kConcat, numbers, {static_cast<std::int32_t>(widths.size())});
  c.output = {1, 3, 5, 0};
  std::uint32_t seed = 180;
  for (const std::uint32_t w : widths) {
    add_input(&c, {1, 3, 5, w}, seed++);
    c.output.c += w;
  }
  add_residual(&c, seed);
  return c;
}

Case pool(Numbers numbers, Op op) {
  Case c = make(op, numbers, {3, 3, 2, 2, 1, 1, 1, 1, 0});
  c.output = {1, 4, 5, 6};
  add_input(&c, {1, 7, 9, 6}, 190);
  add_residual(&c, 191);
  if (c.subnormal && op == Op::kAvgPool) {
    for (Data& d : c.inputs) use_fine_subnormals(&d);
    c.step = 0;
  }
  return c;
}

Case mean(Numbers numbers, const Dims& x) {
  Case c = make(Op::kGlobalMean, numbers);
  c.output = {x.n, 1, 1, x.c};
  add_input(&c, x, 200);
  add_residual(&c, 201);
  c.step = 0;
  return c;
}

Case squeeze_excite(Numbers numbers) {
  constexpr std::uint32_t kIn = 30, kMiddle = 7, kOut = 26;
  Case c = make(Op::kSqueezeExcite, numbers,
                {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, kIn, kOut, kMiddle,
                 static_cast<std::int32_t>(model::Activation::kRelu)});
  c.output = {3, 1, 1, kOut};
  add_input(&c, {3, 1, 1, kIn}, 210);
  add_residual(&c, 211);
  c.consts = {weights(pad4(kIn), kMiddle, 212, numbers, pad4(kIn), kIn)};
  add_scale_and_bias(&c, kMiddle, 213);
  c.consts.push_back(weights(pad4(kMiddle), kOut, 215, numbers, pad4(kMiddle), kMiddle));
  add_scale_and_bias(&c, kOut, 216);
  c.step = 0;  // sums that leave the subnormals are rounded
  return c;
}

namespace {

Case scaled(Numbers numbers, std::uint32_t count, std::uint32_t middle, std::uint32_t seed) {
  Case c = make(Op::kSqueezeExcite, numbers,
                {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, static_cast<std::int32_t>(count),
                 static_cast<std::int32_t>(count), static_cast<std::int32_t>(middle),
                 static_cast<std::int32_t>(model::Activation::kRelu)});
  c.output = {2, 3, 5, count};
  add_input(&c, c.output, seed);
  add_input(&c, c.output, seed + 1);
  c.consts = {weights(pad4(count), middle, seed + 2, numbers, pad4(count), count)};
  add_scale_and_bias(&c, middle, seed + 3);
  c.consts.push_back(weights(pad4(middle), count, seed + 5, numbers, pad4(middle), middle));
  add_scale_and_bias(&c, count, seed + 6);
  // A gate of 1 keeps the picture's subnormals what they are.
  if (c.subnormal) c.consts.back() = channels(count, seed + 7, 1, 0);
  return c;
}

}  // namespace

Case scaled(Numbers numbers) { return scaled(numbers, 22, 7, 280); }
Case widely_scaled(Numbers numbers) { return scaled(numbers, 42, 18, 350); }

Case layer_norm(Numbers numbers) {
  Case c = make(Op::kLayerNorm, numbers);
  c.node.f[0] = 1e-5f;
  c.output = {2, 1, 5, 19};
  add_input(&c, c.output, 220);
  add_residual(&c, 221);
  add_scale_and_bias(&c, c.output.c, 222);
  if (c.subnormal) {
    // Far below epsilon: times 316, so that results are ordinary numbers.
    for (Data& d : c.inputs) use_fine_subnormals(&d);
    c.extra = 400 * double{kHalfStep};
    c.step = 0;
  }
  return c;
}

Case softmax(Numbers numbers) {
  Case c = make(Op::kSoftmax, numbers);
  c.node.epilogue = {model::Activation::kNone, 0, 0, 1, 0};
  c.output = {1, 1, 5, 37};
  // Shares from ordinary ones to subnormals.
  c.dims = {c.output};
  c.inputs = {tensor(c.output, 230, Numbers::kOrdinary)};
  c.inputs[0].seed.range = c.subnormal ? 8 : 2;
  c.step = 0;
  return c;
}

Case attention(Numbers numbers) {
  constexpr std::uint32_t kHeads = 3, kDim = 5, kLength = 11;
  Case c = make(Op::kAttention, numbers, {kHeads, kDim});
  c.node.f[0] = static_cast<float>(1 / std::sqrt(double{kDim}));
  c.output = {2, 1, kLength, kHeads * kDim};
  add_input(&c, {2, 1, kLength, 3 * kHeads * kDim}, 240);
  add_residual(&c, 241);
  if (c.subnormal) {
    for (Data& d : c.inputs) use_fine_subnormals(&d);
    c.extra = 8 * double{kHalfStep};
  }
  c.step = 0;
  return c;
}

Case plain(Case c) {
  c.node.flags &= ~std::uint32_t{model::kHasResidual};
  c.dims.pop_back();
  c.inputs.pop_back();
  return c;
}

Case plain(Case c, model::Activation act) {
  c.node.epilogue.act = act;
  return plain(std::move(c));
}

}  // namespace spirkiln::answers
