// SPDX-License-Identifier: Apache-2.0
#include "oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace spirkiln::oracle {
namespace {

using model::Activation;
using model::Op;

// A value before the epilogue.
struct Sum {
  double v = 0, mag = 0;
  void add(double a, double b) {
    v += a * b;
    mag += std::abs(a * b);
  }
};

double clamp(double v, double lo, double hi) { return std::min(std::max(v, lo), hi); }

// How much a change of the argument changes the result at most, and the size of what the activation
// itself rounds beyond its argument.
struct ActivationBound {
  double slope, own;
};
ActivationBound bound(const model::Epilogue& e, double y) {
  switch (e.act) {
    case Activation::kHardSigmoid:
      return {std::abs(e.a), std::abs(e.b) + 1};
    case Activation::kHardSwish:  // 2 a v + b where it is curved, 1 behind
      return {std::max({1.0, std::abs(double{e.b}), std::abs(2 - double{e.b})}), std::abs(y)};
    case Activation::kSigmoid:
      return {0.25, 1};
    case Activation::kSwish:
    case Activation::kGelu:
      return {1.15, std::abs(y)};
    default:
      return {1, 0};
  }
}

class Output {
 public:
  Output(const model::Node& node, const std::vector<Tensor>& inputs, const Dims& dims)
      : node_(node), residual_(node.flags & model::kHasResidual ? &inputs.back() : nullptr) {
    tensor_.dims = dims;
    tensor_.v.resize(dims.pixels() * dims.c);
    tensor_.mag.resize(tensor_.v.size());
  }

  void set(std::uint32_t n, std::uint32_t h, std::uint32_t w, std::uint32_t c, Sum s) {
    const Dims& d = tensor_.dims;
    const auto i = ((std::uint64_t{n} * d.h + h) * d.w + w) * d.c + c;
    const double r = residual_ ? residual_->v[i] : 0;
    const bool before = (node_.flags & model::kResidualBefore) != 0;
    if (before) s = {s.v + r, s.mag + std::abs(r)};
    const model::Epilogue& e = node_.epilogue;
    double y = activation(e, s.v);
    const ActivationBound b = bound(e, y);
    double mag = b.slope * s.mag + b.own;
    y = y * e.post_scale + e.post_bias;
    mag = std::abs(e.post_scale) * mag + std::abs(e.post_bias);
    if (!before) {
      y += r;
      mag += std::abs(r);
    }
    tensor_.v[i] = y;
    tensor_.mag[i] = mag;
  }

  Tensor take() { return std::move(tensor_); }

 private:
  const model::Node& node_;
  const Tensor* residual_;
  Tensor tensor_;
};

std::uint32_t pad4(std::uint32_t c) { return (c + 3) / 4 * 4; }

template <typename F>
void for_each(const Dims& d, F f) {
  for (std::uint32_t n = 0; n < d.n; n++)
    for (std::uint32_t h = 0; h < d.h; h++)
      for (std::uint32_t w = 0; w < d.w; w++)
        for (std::uint32_t c = 0; c < d.c; c++) f(n, h, w, c);
}

Sum scaled(const Sum& s, double scale, double bias) {
  return {s.v * scale + bias, s.mag * std::abs(scale) + std::abs(bias)};
}

// Calls f(input line, input column, ky, kx) for what of the window lies in the picture.
template <typename F>
void window(const model::Node& node, const Dims& x, std::uint32_t h, std::uint32_t w,
            std::int32_t dilation_h, std::int32_t dilation_w, F f) {
  for (std::int32_t ky = 0; ky < node.i[0]; ky++) {
    for (std::int32_t kx = 0; kx < node.i[1]; kx++) {
      const std::int64_t iy = std::int64_t{h} * node.i[2] + ky * dilation_h - node.i[4];
      const std::int64_t ix = std::int64_t{w} * node.i[3] + kx * dilation_w - node.i[5];
      if (iy < 0 || ix < 0 || iy >= x.h || ix >= x.w) continue;
      f(static_cast<std::uint32_t>(iy), static_cast<std::uint32_t>(ix), ky, kx);
    }
  }
}

Sum conv(const model::Node& node, const Tensor& x, const std::vector<std::vector<double>>& consts,
         std::uint32_t n, std::uint32_t h, std::uint32_t w, std::uint32_t o, std::uint32_t out_c) {
  const std::uint64_t cin4 = pad4(x.dims.c), cout4 = pad4(out_c);
  Sum s;
  window(node, x.dims, h, w, node.i[8], node.i[9],
         [&](std::uint32_t iy, std::uint32_t ix, std::int32_t ky, std::int32_t kx) {
           for (std::uint32_t c = 0; c < x.dims.c; c++) {
             const auto tap = static_cast<std::uint64_t>(ky * node.i[1] + kx);
             s.add(x.at(n, iy, ix, c), consts[0][(tap * cin4 + c) * cout4 + o]);
           }
         });
  return scaled(s, consts[1][o], consts[2][o]);
}

Sum pool(const model::Node& node, const Tensor& x, std::uint32_t n, std::uint32_t h,
         std::uint32_t w, std::uint32_t c) {
  const bool average = node.op == Op::kAvgPool;
  Sum sum;
  double top = -INFINITY;
  double count = 0;
  window(node, x.dims, h, w, 1, 1,
         [&](std::uint32_t iy, std::uint32_t ix, std::int32_t, std::int32_t) {
           sum.add(x.at(n, iy, ix, c), 1);
           top = std::max(top, x.at(n, iy, ix, c));
           count++;
         });
  if (!average) return {top, std::abs(top)};
  if (node.i[8] != 0) {
    const std::int64_t y0 = std::int64_t{h} * node.i[2], x0 = std::int64_t{w} * node.i[3];
    const std::int64_t y1 =
        std::min<std::int64_t>(y0 + node.i[0], std::int64_t{x.dims.h} + node.i[4] + node.i[6]);
    const std::int64_t x1 =
        std::min<std::int64_t>(x0 + node.i[1], std::int64_t{x.dims.w} + node.i[5] + node.i[7]);
    count = static_cast<double>((y1 - y0) * (x1 - x0));
  }
  return {sum.v / count, sum.mag / count};
}

Sum binary(const model::Node& node, const Tensor& x, const Tensor& y, std::uint32_t n,
           std::uint32_t h, std::uint32_t w, std::uint32_t c) {
  const auto clip = [](std::uint32_t i, std::uint32_t size) { return size == 1 ? 0 : i; };
  const double a = x.at(n, h, w, c);
  const double b = y.at(clip(n, y.dims.n), clip(h, y.dims.h), clip(w, y.dims.w), clip(c, y.dims.c));
  switch (static_cast<model::BinaryOp>(node.i[0])) {
    case model::BinaryOp::kAdd:
      return {a + b, std::abs(a) + std::abs(b)};
    case model::BinaryOp::kSub:
      return {a - b, std::abs(a) + std::abs(b)};
    case model::BinaryOp::kMul:
      return {a * b, std::abs(a * b)};
    case model::BinaryOp::kDiv:
      return {a / b, std::abs(a / b)};
  }
  throw std::logic_error("binary operation");
}

void squeeze_excite(const model::Node& node, const Tensor& x,
                    const std::vector<std::vector<double>>& k, Output* out, const Dims& od) {
  const auto cmid = static_cast<std::uint32_t>(node.i[12]);
  const model::Epilogue mid{static_cast<Activation>(node.i[13]), node.f[0], node.f[1], 1, 0};
  for (std::uint32_t n = 0; n < od.n; n++) {
    std::vector<Sum> hidden(cmid);
    for (std::uint32_t m = 0; m < cmid; m++) {
      Sum s;
      for (std::uint32_t c = 0; c < x.dims.c; c++)
        s.add(x.at(n, 0, 0, c), k[0][c * pad4(cmid) + m]);
      s = scaled(s, k[1][m], k[2][m]);
      const double y = activation(mid, s.v);
      const ActivationBound b = bound(mid, y);
      hidden[m] = {y, b.slope * s.mag + b.own};
    }
    for (std::uint32_t o = 0; o < od.c; o++) {
      Sum s;
      for (std::uint32_t m = 0; m < cmid; m++) {
        const double w = k[3][m * pad4(od.c) + o];
        s.v += hidden[m].v * w;
        s.mag += hidden[m].mag * std::abs(w);
      }
      out->set(n, 0, 0, o, scaled(s, k[4][o], k[5][o]));
    }
  }
}

void layer_norm(const model::Node& node, const Tensor& x, const std::vector<std::vector<double>>& k,
                Output* out) {
  const Dims& d = x.dims;
  for_each({d.n, d.h, d.w, 1},
           [&](std::uint32_t n, std::uint32_t h, std::uint32_t w, std::uint32_t) {
             double mean = 0, size = 0, square = 0;
             for (std::uint32_t c = 0; c < d.c; c++) {
               mean += x.at(n, h, w, c) / d.c;
               size += std::abs(x.at(n, h, w, c)) / d.c;
             }
             for (std::uint32_t c = 0; c < d.c; c++)
               square += std::pow(x.at(n, h, w, c) - mean, 2) / d.c;
             const double factor = 1 / std::sqrt(square + node.f[0]);
             for (std::uint32_t c = 0; c < d.c; c++) {
               const double v = x.at(n, h, w, c);
               // The deviation's error is relative to v and to the mean's terms.
               out->set(n, h, w, c,
                        {(v - mean) * factor * k[0][c] + k[1][c],
                         (std::abs(v) + size) * factor * std::abs(k[0][c]) + std::abs(k[1][c])});
             }
           });
}

void softmax(const Tensor& x, Output* out) {
  const Dims& d = x.dims;
  for_each({d.n, d.h, d.w, 1}, [&](std::uint32_t n, std::uint32_t h, std::uint32_t w,
                                   std::uint32_t) {
    double top = -INFINITY, sum = 0;
    for (std::uint32_t c = 0; c < d.c; c++) top = std::max(top, x.at(n, h, w, c));
    for (std::uint32_t c = 0; c < d.c; c++) sum += std::exp(x.at(n, h, w, c) - top);
    for (std::uint32_t c = 0; c < d.c; c++) {
      const double e = x.at(n, h, w, c) - top;
      const double y = std::exp(e) / sum;
      out->set(n, h, w, c, {y, y * (1 + std::abs(e))});  // an error of e is one factor of exp(e)
    }
  });
}

void attention(const model::Node& node, const Tensor& x, Output* out) {
  const auto heads = static_cast<std::uint32_t>(node.i[0]),
             dim = static_cast<std::uint32_t>(node.i[1]);
  const std::uint32_t channels = heads * dim, length = x.dims.w;
  for_each({x.dims.n, 1, length, heads},
           [&](std::uint32_t n, std::uint32_t, std::uint32_t t, std::uint32_t head) {
             std::vector<double> score(length);
             double top = -INFINITY, size = 0, sum = 0;
             for (std::uint32_t s = 0; s < length; s++) {
               Sum q;
               for (std::uint32_t d = 0; d < dim; d++) {
                 q.add(x.at(n, 0, t, head * dim + d), x.at(n, 0, s, channels + head * dim + d));
               }
               score[s] = q.v * node.f[0];
               top = std::max(top, score[s]);
               size = std::max(size, q.mag * std::abs(node.f[0]));
             }
             for (double& s : score) sum += s = std::exp(s - top);
             for (std::uint32_t d = 0; d < dim; d++) {
               Sum r;
               for (std::uint32_t s = 0; s < length; s++) {
                 r.add(score[s] / sum, x.at(n, 0, s, 2 * channels + head * dim + d));
               }
               // An error of the scores is a factor on every weight, above and below the fraction.
               out->set(n, 0, t, head * dim + d, {r.v, r.mag * (1 + 2 * size)});
             }
           });
}

}  // namespace

double activation(const model::Epilogue& e, double v) {
  const double a = e.a, b = e.b;
  switch (e.act) {
    case Activation::kNone:
      return v;
    case Activation::kRelu:
      return std::max(v, 0.0);
    case Activation::kClip:
      return clamp(v, a, b);
    case Activation::kHardSigmoid:
      return clamp(a * v + b, 0, 1);
    case Activation::kHardSwish:
      return v * clamp(a * v + b, 0, 1);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-v));
    case Activation::kSwish:
      return v / (1 + std::exp(-v));
    case Activation::kGelu:
      return v * 0.5 * (1 + std::erf(v / std::sqrt(2.0)));
  }
  throw std::logic_error("activation");
}

Tensor run(const model::Node& node, const std::vector<Tensor>& inputs,
           const std::vector<std::vector<double>>& k, const Dims& d) {
  const Tensor& x = inputs[0];
  Output out(node, inputs, d);
  switch (node.op) {
    case Op::kConv:
      for_each(d, [&](auto n, auto h, auto w, auto c) {
        out.set(n, h, w, c, conv(node, x, k, n, h, w, c, d.c));
      });
      break;
    case Op::kDepthwise:
      for_each(d, [&](auto n, auto h, auto w, auto c) {
        Sum s;
        window(node, x.dims, h, w, node.i[8], node.i[9],
               [&](std::uint32_t iy, std::uint32_t ix, std::int32_t ky, std::int32_t kx) {
                 const auto tap = static_cast<std::uint64_t>(ky * node.i[1] + kx);
                 s.add(x.at(n, iy, ix, c), k[0][tap * pad4(d.c) + c]);
               });
        out.set(n, h, w, c, scaled(s, k[1][c], k[2][c]));
      });
      break;
    case Op::kDeconv: {
      const auto kh = static_cast<std::uint32_t>(node.i[0]),
                 kw = static_cast<std::uint32_t>(node.i[1]);
      for_each(d, [&](auto n, auto h, auto w, auto o) {
        Sum s;
        for (std::uint32_t c = 0; c < x.dims.c; c++) {
          s.add(x.at(n, h / kh, w / kw, c),
                k[0][((std::uint64_t{c} * kh + h % kh) * kw + w % kw) * pad4(d.c) + o]);
        }
        out.set(n, h, w, o, scaled(s, k[1][o], k[2][o]));
      });
      break;
    }
    case Op::kMaxPool:
    case Op::kAvgPool:
      for_each(d, [&](auto n, auto h, auto w, auto c) {
        out.set(n, h, w, c, pool(node, x, n, h, w, c));
      });
      break;
    case Op::kGlobalMean:
      for_each(d, [&](auto n, auto, auto, auto c) {
        Sum s;
        for (std::uint32_t h = 0; h < x.dims.h; h++)
          for (std::uint32_t w = 0; w < x.dims.w; w++)
            s.add(x.at(n, h, w, c), 1.0 / (x.dims.h * x.dims.w));
        out.set(n, 0, 0, c, s);
      });
      break;
    case Op::kSqueezeExcite:
      squeeze_excite(node, x, k, &out, d);
      break;
    case Op::kBinary:
      for_each(d, [&](auto n, auto h, auto w, auto c) {
        out.set(n, h, w, c, binary(node, x, inputs[1], n, h, w, c));
      });
      break;
    case Op::kAffine:
      for_each(d, [&](auto n, auto h, auto w, auto c) {
        Sum s;
        s.add(x.at(n, h, w, c), 1);
        out.set(n, h, w, c, scaled(s, k[0][c], k[1][c]));
      });
      break;
    case Op::kResize:
      for_each(d, [&](auto n, auto h, auto w, auto c) {
        const double v = x.at(n, h / static_cast<std::uint32_t>(node.i[0]),
                              w / static_cast<std::uint32_t>(node.i[1]), c);
        out.set(n, h, w, c, {v, std::abs(v)});
      });
      break;
    case Op::kConcat:
      for_each(d, [&](auto n, auto h, auto w, auto c) {
        std::size_t i = 0;
        std::uint32_t first = 0;
        while (c - first >= inputs[i].dims.c) first += inputs[i++].dims.c;
        const double v = inputs[i].at(n, h, w, c - first);
        out.set(n, h, w, c, {v, std::abs(v)});
      });
      break;
    case Op::kLayerNorm:
      layer_norm(node, x, k, &out);
      break;
    case Op::kAttention:
      attention(node, x, &out);
      break;
    case Op::kSoftmax:
      softmax(x, &out);
      break;
  }
  return out.take();
}

}  // namespace spirkiln::oracle
