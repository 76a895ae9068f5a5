// SPDX-License-Identifier: Apache-2.0
#include "reference_graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

namespace spirkiln::test {
namespace {

using model::Activation;
using model::Op;

[[noreturn]] void fail(const std::string& text) { throw std::runtime_error(text); }

std::size_t cpad(int c) { return static_cast<std::size_t>((c + 3) / 4 * 4); }

double half_value(std::uint16_t h) {
  const int e = (h >> 10) & 31, m = h & 1023;
  const double sign = (h >> 15) != 0 ? -1.0 : 1.0;
  if (e == 0) return sign * m * std::pow(2.0, -24);
  if (e == 31) return sign * (m == 0 ? INFINITY : NAN);
  return sign * (1.0 + m / 1024.0) * std::pow(2.0, e - 15);
}

long floor_div(long a, long b) {
  if (b <= 0) fail("shape: division by " + std::to_string(b));
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

// y = act(v (+ r)) * post_scale + post_bias (+ r)
void epilogue(const model::Node& n, const RefTensor* residual, RefTensor& out) {
  const auto& e = n.epilogue;
  const bool before = (n.flags & model::kResidualBefore) != 0;
  if (residual != nullptr && residual->v.size() != out.v.size()) fail("residual of another size");
  for (std::size_t i = 0; i < out.v.size(); ++i) {
    double x = out.v[i];
    if (residual != nullptr && before) x += residual->v[i];
    x = reference_activation(e.act, e.a, e.b, x) * e.post_scale + e.post_bias;
    if (residual != nullptr && !before) x += residual->v[i];
    out.v[i] = x;
  }
}

void convolution(const model::Node& n, const RefTensor& x, const std::vector<RefConst>& c,
                 bool depthwise, RefTensor& out) {
  const auto* i = n.i;
  const RefConst &weights = c.at(0), &scale = c.at(1), &bias = c.at(2);
  const std::size_t in_pad = cpad(i[10]), out_pad = cpad(i[11]);
  std::vector<double> sum(static_cast<std::size_t>(out.c));
  for (int b = 0; b < out.n; ++b)
    for (int oh = 0; oh < out.h; ++oh)
      for (int ow = 0; ow < out.w; ++ow) {
        std::fill(sum.begin(), sum.end(), 0.0);
        for (int kh = 0; kh < i[0]; ++kh)
          for (int kw = 0; kw < i[1]; ++kw) {
            const int ih = oh * i[2] - i[4] + kh * i[8], iw = ow * i[3] - i[5] + kw * i[9];
            if (ih < 0 || ih >= x.h || iw < 0 || iw >= x.w) continue;
            const auto tap = static_cast<std::size_t>(kh * i[1] + kw);
            const double* px = &x.v[x.index(b, ih, iw, 0)];
            if (depthwise) {
              const double* pw = &weights.at(tap * out_pad);
              for (std::size_t o = 0; o < sum.size(); ++o) sum[o] += px[o] * pw[o];
            } else {
              for (int ic = 0; ic < x.c; ++ic) {
                const double* pw =
                    &weights.at((tap * in_pad + static_cast<std::size_t>(ic)) * out_pad);
                for (std::size_t o = 0; o < sum.size(); ++o) sum[o] += px[ic] * pw[o];
              }
            }
          }
        double* po = &out.v[out.index(b, oh, ow, 0)];
        for (std::size_t o = 0; o < sum.size(); ++o) po[o] = sum[o] * scale.at(o) + bias.at(o);
      }
}

void deconvolution(const model::Node& n, const RefTensor& x, const std::vector<RefConst>& c,
                   RefTensor& out) {
  const int kh = n.i[0], kw = n.i[1];
  const std::size_t out_pad = cpad(n.i[11]);
  for (int b = 0; b < out.n; ++b)
    for (int oh = 0; oh < out.h; ++oh)
      for (int ow = 0; ow < out.w; ++ow)
        for (int o = 0; o < out.c; ++o) {
          double sum = 0;
          for (int ic = 0; ic < x.c; ++ic) {
            const auto tap = static_cast<std::size_t>((ic * kh + oh % kh) * kw + ow % kw);
            sum += x.at(b, oh / kh, ow / kw, ic) *
                   c.at(0).at(tap * out_pad + static_cast<std::size_t>(o));
          }
          const auto lane = static_cast<std::size_t>(o);
          out.at(b, oh, ow, o) = sum * c.at(1).at(lane) + c.at(2).at(lane);
        }
}

void pool(const model::Node& n, const RefTensor& x, bool average, RefTensor& out) {
  const auto* i = n.i;
  for (int b = 0; b < out.n; ++b)
    for (int oh = 0; oh < out.h; ++oh)
      for (int ow = 0; ow < out.w; ++ow)
        for (int c = 0; c < out.c; ++c) {
          double best = -INFINITY, sum = 0;
          int inside = 0, counted = 0;
          for (int kh = 0; kh < i[0]; ++kh)
            for (int kw = 0; kw < i[1]; ++kw) {
              const int ih = oh * i[2] - i[4] + kh, iw = ow * i[3] - i[5] + kw;
              // The average counts padding, never what lies beyond it.
              if (ih < x.h + i[6] && iw < x.w + i[7]) ++counted;
              if (ih < 0 || ih >= x.h || iw < 0 || iw >= x.w) continue;
              ++inside;
              sum += x.at(b, ih, iw, c);
              best = std::max(best, x.at(b, ih, iw, c));
            }
          out.at(b, oh, ow, c) = average ? sum / (i[8] != 0 ? counted : inside) : best;
        }
}

// One product of a squeeze-excite: w[cpad(in)][cpad(out)].
std::vector<double> product(const std::vector<double>& x, int outs, const RefConst& w,
                            const RefConst& scale, const RefConst& bias) {
  std::vector<double> y(static_cast<std::size_t>(outs));
  for (std::size_t o = 0; o < y.size(); ++o) {
    double sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] * w.at(k * cpad(outs) + o);
    y[o] = sum * scale.at(o) + bias.at(o);
  }
  return y;
}

void squeeze_excite(const model::Node& n, const RefTensor& m, const std::vector<RefConst>& c,
                    RefTensor& out) {
  for (int b = 0; b < out.n; ++b) {
    std::vector<double> x;
    for (int k = 0; k < m.c; ++k) x.push_back(m.at(b, 0, 0, k));
    auto mid = product(x, n.i[12], c.at(0), c.at(1), c.at(2));
    for (double& v : mid) {
      v = reference_activation(static_cast<Activation>(n.i[13]), n.f[0], n.f[1], v);
    }
    const auto y = product(mid, n.i[11], c.at(3), c.at(4), c.at(5));
    for (int k = 0; k < out.c; ++k) out.at(b, 0, 0, k) = y[static_cast<std::size_t>(k)];
  }
}

void binary(const model::Node& n, const RefTensor& x, const RefTensor& y, RefTensor& out) {
  const auto pick = [](int size, int i) { return size == 1 ? 0 : i; };
  for (int b = 0; b < out.n; ++b)
    for (int h = 0; h < out.h; ++h)
      for (int w = 0; w < out.w; ++w)
        for (int c = 0; c < out.c; ++c) {
          const double p = x.at(b, h, w, c);
          const double q = y.at(pick(y.n, b), pick(y.h, h), pick(y.w, w), pick(y.c, c));
          double r = 0;
          switch (static_cast<model::BinaryOp>(n.i[0])) {
            case model::BinaryOp::kAdd:
              r = p + q;
              break;
            case model::BinaryOp::kSub:
              r = p - q;
              break;
            case model::BinaryOp::kMul:
              r = p * q;
              break;
            case model::BinaryOp::kDiv:
              r = p / q;
              break;
          }
          out.at(b, h, w, c) = r;
        }
}

// Per pixel: the C values become `f` of them.
template <typename F>
void per_pixel(const RefTensor& x, RefTensor& out, const F& f) {
  const auto c = static_cast<std::size_t>(x.c);
  for (std::size_t at = 0; at < x.v.size(); at += c) f(&x.v[at], &out.v[at], c);
}

void softmax(const double* x, double* y, std::size_t c) {
  const double top = *std::max_element(x, x + c);
  double sum = 0;
  for (std::size_t k = 0; k < c; ++k) sum += y[k] = std::exp(x[k] - top);
  for (std::size_t k = 0; k < c; ++k) y[k] /= sum;
}

void attention(const model::Node& n, const RefTensor& x, RefTensor& out) {
  const int heads = n.i[0], dim = n.i[1], all = heads * dim;
  std::vector<double> score(static_cast<std::size_t>(x.w));
  for (int b = 0; b < x.n; ++b)
    for (int head = 0; head < heads; ++head)
      for (int t = 0; t < x.w; ++t) {
        for (int s = 0; s < x.w; ++s) {
          double dot = 0;
          for (int d = 0; d < dim; ++d) {
            dot += x.at(b, 0, t, head * dim + d) * x.at(b, 0, s, all + head * dim + d);
          }
          score[static_cast<std::size_t>(s)] = dot * n.f[0];
        }
        softmax(score.data(), score.data(), score.size());
        for (int d = 0; d < dim; ++d) {
          double sum = 0;
          for (int s = 0; s < x.w; ++s) {
            sum += score[static_cast<std::size_t>(s)] * x.at(b, 0, s, 2 * all + head * dim + d);
          }
          out.at(b, 0, t, head * dim + d) = sum;
        }
      }
}

}  // namespace

double reference_activation(Activation act, double a, double b, double x) {
  const auto unit = [](double v) { return std::min(std::max(v, 0.0), 1.0); };
  switch (act) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kClip:
      return std::min(std::max(x, a), b);
    case Activation::kHardSigmoid:
      return unit(a * x + b);
    case Activation::kHardSwish:
      return x * unit(a * x + b);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kSwish:
      return x / (1 + std::exp(-x));
    case Activation::kGelu:
      return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
  }
  fail("unknown activation");
}

RefTensor reference_node(const model::Node& n, const std::vector<const RefTensor*>& inputs,
                         const std::vector<RefConst>& consts, RefTensor out) {
  const RefTensor& x = *inputs.at(0);
  switch (n.op) {
    case Op::kConv:
      convolution(n, x, consts, false, out);
      break;
    case Op::kDepthwise:
      convolution(n, x, consts, true, out);
      break;
    case Op::kDeconv:
      deconvolution(n, x, consts, out);
      break;
    case Op::kMaxPool:
      pool(n, x, false, out);
      break;
    case Op::kAvgPool:
      pool(n, x, true, out);
      break;
    case Op::kGlobalMean:
      for (int b = 0; b < x.n; ++b)
        for (int c = 0; c < x.c; ++c) {
          double sum = 0;
          for (int h = 0; h < x.h; ++h)
            for (int w = 0; w < x.w; ++w) sum += x.at(b, h, w, c);
          out.at(b, 0, 0, c) = sum / (static_cast<double>(x.h) * x.w);
        }
      break;
    case Op::kSqueezeExcite:
      squeeze_excite(n, x, consts, out);
      break;
    case Op::kBinary:
      binary(n, x, *inputs.at(1), out);
      break;
    case Op::kAffine:
      per_pixel(x, out, [&](const double* p, double* q, std::size_t c) {
        for (std::size_t k = 0; k < c; ++k) q[k] = p[k] * consts.at(0).at(k) + consts.at(1).at(k);
      });
      break;
    case Op::kResize:
      for (int b = 0; b < out.n; ++b)
        for (int h = 0; h < out.h; ++h)
          for (int w = 0; w < out.w; ++w)
            for (int c = 0; c < out.c; ++c) {
              out.at(b, h, w, c) = x.at(b, h / n.i[0], w / n.i[1], c);
            }
      break;
    case Op::kConcat: {
      int first = 0;
      for (int i = 0; i < n.i[0]; ++i) {  // a residual may follow
        const RefTensor* part = inputs.at(static_cast<std::size_t>(i));
        for (int b = 0; b < out.n; ++b)
          for (int h = 0; h < out.h; ++h)
            for (int w = 0; w < out.w; ++w)
              for (int c = 0; c < part->c; ++c) {
                out.at(b, h, w, first + c) = part->at(b, h, w, c);
              }
        first += part->c;
      }
      break;
    }
    case Op::kLayerNorm:
      per_pixel(x, out, [&](const double* p, double* q, std::size_t c) {
        double mean = 0, variance = 0;
        for (std::size_t k = 0; k < c; ++k) mean += p[k] / static_cast<double>(c);
        for (std::size_t k = 0; k < c; ++k) {
          variance += (p[k] - mean) * (p[k] - mean) / static_cast<double>(c);
        }
        for (std::size_t k = 0; k < c; ++k) {
          q[k] = (p[k] - mean) / std::sqrt(variance + n.f[0]) * consts.at(0).at(k) +
                 consts.at(1).at(k);
        }
      });
      break;
    case Op::kAttention:
      attention(n, x, out);
      break;
    case Op::kSoftmax:
      per_pixel(x, out, softmax);
      break;
  }
  const bool has_residual = (n.flags & model::kHasResidual) != 0;
  epilogue(n, has_residual ? inputs.back() : nullptr, out);
  return out;
}

template <typename T>
std::vector<T> ReferenceGraph::section(const model::Section& s) const {
  if (s.stride != sizeof(T) || s.offset > pack_.size() ||
      std::uint64_t{s.count} * sizeof(T) > pack_.size() - s.offset) {
    fail("pack: a section does not fit");
  }
  std::vector<T> items(s.count);
  if (!items.empty()) std::memcpy(items.data(), pack_.data() + s.offset, s.count * sizeof(T));
  return items;
}

ReferenceGraph::ReferenceGraph(std::vector<std::uint8_t> pack) : pack_(std::move(pack)) {
  if (pack_.size() < sizeof header_) fail("pack: too short");
  std::memcpy(&header_, pack_.data(), sizeof header_);
  if (std::memcmp(header_.magic, model::kMagic, 8) != 0) fail("pack: wrong magic");
  exprs_ = section<model::Expr>(header_.exprs);
  constraints_ = section<model::Constraint>(header_.constraints);
  tensors_ = section<model::Tensor>(header_.tensors);
  nodes_ = section<model::Node>(header_.nodes);
  refs_ = section<std::uint32_t>(header_.refs);
  consts_ = section<model::Const>(header_.consts);
  outputs_ = section<std::uint32_t>(header_.outputs);
}

ReferenceGraph ReferenceGraph::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path + ": cannot be opened");
  return ReferenceGraph(std::vector<std::uint8_t>(std::istreambuf_iterator<char>(file), {}));
}

std::string ReferenceGraph::text(std::uint32_t offset) const {
  return reinterpret_cast<const char*>(pack_.data() + header_.strings.offset + offset);
}

std::vector<std::uint32_t> ReferenceGraph::tensor_refs(const model::Node& node) const {
  std::vector<std::uint32_t> tensors;
  for (std::uint32_t k = 0; k < node.input_count; ++k) {
    tensors.push_back(refs_.at(node.first_input + k));
  }
  return tensors;
}

std::vector<RefConst> ReferenceGraph::constants(const model::Node& node, RefWeights weights) const {
  std::vector<RefConst> all;
  for (std::uint32_t k = 0; k < node.const_count; ++k) {
    const model::Const& c = consts_.at(refs_.at(node.first_const + k));
    RefConst values(c.elements);
    for (std::size_t e = 0; e < values.size(); ++e) {
      if (c.type == model::ConstType::kFloat32) {
        float f = 0;
        std::memcpy(&f, pack_.data() + c.offset + 4 * e, 4);
        values[e] = f;
      } else {
        std::uint16_t hi = 0, lo = 0;
        std::memcpy(&hi, pack_.data() + c.offset + 2 * e, 2);
        std::memcpy(&lo, pack_.data() + c.lo_offset + 2 * e, 2);
        values[e] = half_value(hi);
        if (weights == RefWeights::kFull) values[e] += half_value(lo) / 4096;
      }
    }
    all.push_back(std::move(values));
  }
  return all;
}

std::vector<std::vector<int>> ReferenceGraph::shapes(int n, int h, int w) const {
  const long input[3] = {n, h, w};
  std::vector<long> value;
  for (const model::Expr& e : exprs_) {
    const auto arg = [&](std::int32_t k) { return value.at(static_cast<std::size_t>(k)); };
    switch (e.op) {
      case model::ExprOp::kConst:
        value.push_back(e.a);
        break;
      case model::ExprOp::kInput:
        value.push_back(input[e.a]);
        break;
      case model::ExprOp::kAdd:
        value.push_back(arg(e.a) + arg(e.b));
        break;
      case model::ExprOp::kSub:
        value.push_back(arg(e.a) - arg(e.b));
        break;
      case model::ExprOp::kMul:
        value.push_back(arg(e.a) * arg(e.b));
        break;
      case model::ExprOp::kFloorDiv:
        value.push_back(floor_div(arg(e.a), arg(e.b)));
        break;
      case model::ExprOp::kCeilDiv:
        value.push_back(-floor_div(-arg(e.a), arg(e.b)));
        break;
      case model::ExprOp::kExactDiv:
        value.push_back(floor_div(arg(e.a), arg(e.b)));
        if (value.back() * arg(e.b) != arg(e.a)) fail("shape: a division leaves a rest");
        break;
      case model::ExprOp::kMin:
        value.push_back(std::min(arg(e.a), arg(e.b)));
        break;
      case model::ExprOp::kMax:
        value.push_back(std::max(arg(e.a), arg(e.b)));
        break;
    }
  }
  for (const model::Constraint& c : constraints_) {
    if (value.at(c.a) != value.at(c.b)) fail(text(c.message));
  }
  std::vector<std::vector<int>> result;
  for (const model::Tensor& t : tensors_) {
    std::vector<int> dims;
    for (const std::uint32_t d : t.dim) {
      if (value.at(d) < 1) fail(text(t.name) + ": a dimension is below 1");
      dims.push_back(static_cast<int>(value.at(d)));
    }
    result.push_back(std::move(dims));
  }
  return result;
}

RefTensor ReferenceGraph::normalise(std::span<const std::uint8_t> pixels, int n, int h,
                                    int w) const {
  RefTensor x(n, h, w, 3);
  for (std::size_t p = 0; p < x.v.size() / 3; ++p) {
    for (std::size_t c = 0; c < 3; ++c) {
      const bool inside = pixels[4 * p + 3] != 0;
      x.v[3 * p + c] = inside ? pixels[4 * p + c] * static_cast<double>(header_.input_scale[c]) +
                                    static_cast<double>(header_.input_shift[c])
                              : 0.0;
    }
  }
  return x;
}

std::vector<RefTensor> ReferenceGraph::run(const RefTensor& input, RefWeights weights,
                                           const Observer& observer) const {
  const auto dims = shapes(input.n, input.h, input.w);
  std::vector<RefTensor> tensors(tensors_.size());
  tensors.at(header_.input_tensor) = input;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const model::Node& node = nodes_[i];
    std::vector<const RefTensor*> inputs;
    for (const std::uint32_t t : tensor_refs(node)) inputs.push_back(&tensors.at(t));
    const auto& d = dims.at(node.output);
    tensors[node.output] =
        reference_node(node, inputs, constants(node, weights), RefTensor(d[0], d[1], d[2], d[3]));
    if (observer) observer(i, tensors[node.output]);
  }
  std::vector<RefTensor> outputs;
  for (const std::uint32_t t : outputs_) outputs.push_back(tensors.at(t));
  return outputs;
}

}  // namespace spirkiln::test
