// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions: one filter a channel. Loops of our own, because a primitive of oneDNN
// would have to be compiled for every size of picture; they are as fast (README.md).
#include <algorithm>
#include <cstring>

#include "cpu/activation.hpp"
#include "cpu/convolution.hpp"
#include "cpu/loops.hpp"

namespace spirkiln::cpu {
namespace {

using model::Activation;

// Channels that are computed at the same time. Compilers split what a machine's registers cannot
// hold.
using V16 = float __attribute__((vector_size(64)));
using V8 = float __attribute__((vector_size(32)));

template <typename V>
inline V load(const float* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

struct Geometry {
  std::size_t height, width, channels;       // of the input
  std::size_t out_height, out_width;
  std::size_t kh, kw, sh, sw, dh, dw;
  std::ptrdiff_t top, left;
  // Output columns [inner_begin, inner_end) see no padding.
  std::size_t inner_begin, inner_end;
};

struct Filter {
  const float* weights;  // [kh][kw][channels]
  const float* bias;
  model::Epilogue epilogue;
};

template <Activation kAct, typename V>
inline V activate(V v, const model::Epilogue& e) {
  const V zero{}, one = zero + 1.0f;
  if constexpr (kAct == Activation::kRelu) v = v < zero ? zero : v;
  if constexpr (kAct == Activation::kHardSwish) {
    V gate = v * e.a + e.b;
    gate = gate < zero ? zero : gate;
    gate = gate > one ? one : gate;
    v = v * gate;
  }
  return v * e.post_scale + e.post_bias;
}

// Output columns [begin, begin + kTile) of one row, none of which sees padding left or right.
// `rows` and `filter` begin at the first row of the window that is inside.
template <Activation kAct, int kWidth, int kStride, int kTile, typename V>
inline void tile(const Geometry& g, const Filter& f, const float* rows, const float* filter,
                 std::size_t window_rows, std::size_t channel, float* out) {
  constexpr int kSeen = (kTile - 1) * kStride + kWidth;
  const std::size_t c = g.channels;
  V sum[kTile];
  for (int t = 0; t < kTile; ++t) sum[t] = load<V>(f.bias + channel);
  for (std::size_t ky = 0; ky < window_rows; ++ky) {
    const float* row = rows + ky * g.dh * g.width * c;
    const float* taps = filter + ky * kWidth * c;
    V seen[kSeen];
#pragma GCC unroll 16
    for (int i = 0; i < kSeen; ++i) seen[i] = load<V>(row + static_cast<std::size_t>(i) * c);
#pragma GCC unroll 8
    for (int kx = 0; kx < kWidth; ++kx) {
      const V w = load<V>(taps + static_cast<std::size_t>(kx) * c);
#pragma GCC unroll 8
      for (int t = 0; t < kTile; ++t) sum[t] += seen[t * kStride + kx] * w;
    }
  }
  for (int t = 0; t < kTile; ++t) {
    const V y = activate<kAct>(sum[t], f.epilogue);
    std::memcpy(out + static_cast<std::size_t>(t) * c, &y, sizeof y);
  }
}

// One output pixel of any window.
template <Activation kAct, typename V>
inline void pixel(const Geometry& g, const Filter& f, const float* x, std::size_t oy,
                  std::size_t ox, std::size_t channel, float* out) {
  const auto h = static_cast<std::ptrdiff_t>(g.height), w = static_cast<std::ptrdiff_t>(g.width);
  V sum = load<V>(f.bias + channel);
  for (std::size_t ky = 0; ky < g.kh; ++ky) {
    const std::ptrdiff_t iy = static_cast<std::ptrdiff_t>(oy * g.sh + ky * g.dh) - g.top;
    if (iy < 0 || iy >= h) continue;
    for (std::size_t kx = 0; kx < g.kw; ++kx) {
      const std::ptrdiff_t ix = static_cast<std::ptrdiff_t>(ox * g.sw + kx * g.dw) - g.left;
      if (ix < 0 || ix >= w) continue;
      const auto at = static_cast<std::size_t>(iy * w + ix) * g.channels + channel;
      sum += load<V>(x + at) * load<V>(f.weights + (ky * g.kw + kx) * g.channels + channel);
    }
  }
  const V y = activate<kAct>(sum, f.epilogue);
  std::memcpy(out, &y, sizeof y);
}

// kWidth 0: any window, pixel by pixel.
template <Activation kAct, int kWidth, int kStride, typename V>
inline void channels_of_row(const Geometry& g, const Filter& f, const float* x, std::size_t oy,
                            std::size_t channel, float* out) {
  const std::size_t c = g.channels;
  std::size_t ox = 0;
  if constexpr (kWidth != 0) {
    constexpr int kTile = kStride == 1 ? 4 : 2;
    for (; ox < g.inner_begin; ++ox) pixel<kAct, V>(g, f, x, oy, ox, channel, out + ox * c);
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(oy * g.sh) - g.top;
    const std::size_t skipped = first < 0 ? static_cast<std::size_t>(-first) : 0;
    const auto begin = static_cast<std::size_t>(first + static_cast<std::ptrdiff_t>(skipped));
    const std::size_t rows =
        skipped < g.kh && begin < g.height ? std::min(g.kh - skipped, g.height - begin) : 0;
    const float* top = x + (rows == 0 ? 0 : begin) * g.width * c + channel;
    const float* filter = f.weights + skipped * kWidth * c + channel;
    const auto left = static_cast<std::size_t>(g.left);
    for (; ox + kTile <= g.inner_end; ox += kTile) {
      tile<kAct, kWidth, kStride, kTile, V>(g, f, top + (ox * kStride - left) * c, filter, rows,
                                            channel, out + ox * c);
    }
    for (; ox < g.inner_end; ++ox) {
      tile<kAct, kWidth, kStride, 1, V>(g, f, top + (ox * kStride - left) * c, filter, rows,
                                        channel, out + ox * c);
    }
  }
  for (; ox < g.out_width; ++ox) pixel<kAct, V>(g, f, x, oy, ox, channel, out + ox * c);
}

template <Activation kAct, int kWidth, int kStride>
inline void row_of(const Geometry& g, const Filter& f, const float* x, std::size_t oy, float* out) {
  std::size_t channel = 0;
  for (; channel + 16 <= g.channels; channel += 16) {
    channels_of_row<kAct, kWidth, kStride, V16>(g, f, x, oy, channel, out + channel);
  }
  for (; channel + 8 <= g.channels; channel += 8) {
    channels_of_row<kAct, kWidth, kStride, V8>(g, f, x, oy, channel, out + channel);
  }
  for (; channel < g.channels; ++channel) {
    channels_of_row<kAct, kWidth, kStride, float>(g, f, x, oy, channel, out + channel);
  }
}

template <Activation kAct>
inline void row_by_window(const Geometry& g, const Filter& f, const float* x, std::size_t oy,
                          float* out) {
  const bool plain = g.dw == 1 && g.dh == 1 && g.kh == g.kw;
  if (plain && g.kw == 3 && g.sw == 1) return row_of<kAct, 3, 1>(g, f, x, oy, out);
  if (plain && g.kw == 3 && g.sw == 2) return row_of<kAct, 3, 2>(g, f, x, oy, out);
  if (plain && g.kw == 5 && g.sw == 1) return row_of<kAct, 5, 1>(g, f, x, oy, out);
  if (plain && g.kw == 5 && g.sw == 2) return row_of<kAct, 5, 2>(g, f, x, oy, out);
  row_of<kAct, 0, 1>(g, f, x, oy, out);
}

// Activations that few vectors can do; others come after, in `finish`.
bool is_simple(Activation act) {
  return act == Activation::kNone || act == Activation::kRelu || act == Activation::kHardSwish;
}

SPIRKILN_VECTOR_LOOP void filter_row(const Geometry& g, const Filter& f, const float* x,
                                     std::size_t oy, float* out) {
  switch (f.epilogue.act) {
    case Activation::kRelu:
      return row_by_window<Activation::kRelu>(g, f, x, oy, out);
    case Activation::kHardSwish:
      return row_by_window<Activation::kHardSwish>(g, f, x, oy, out);
    default:
      return row_by_window<Activation::kNone>(g, f, x, oy, out);
  }
}

Geometry geometry_of(const model::Node& node, const Dims& in, const Dims& out) {
  const auto size = [&](int i) { return static_cast<std::size_t>(node.i[i]); };
  Geometry g{in.h,    in.w,    in.c,    out.h,     out.w,     size(0), size(1), size(2),
             size(3), size(8), size(9), node.i[4], node.i[5], 0,       0};
  const std::size_t reach = (g.kw - 1) * g.dw + 1;
  g.inner_begin = (size(5) + g.sw - 1) / g.sw;
  // The last window that ends inside begins at width - reach + left of the padded row.
  g.inner_end = g.width + size(5) >= reach ? (g.width + size(5) - reach) / g.sw + 1 : 0;
  g.inner_end = std::min(g.inner_end, g.out_width);
  g.inner_begin = std::min(g.inner_begin, g.out_width);
  g.inner_end = std::max(g.inner_end, g.inner_begin);
  return g;
}

}  // namespace

Step depthwise(const model::Node& node, const Dims& in, const Dims& out, const ConvWeights& weights,
               int threads) {
  const Geometry g = geometry_of(node, in, out);
  const bool residual = (node.flags & model::kHasResidual) != 0;
  const bool before = (node.flags & model::kResidualBefore) != 0;
  const model::Epilogue nothing{Activation::kNone, 0, 0, 1, 0};
  // The whole epilogue at once where the residual is the last thing, or there is none.
  const bool fused = is_simple(node.epilogue.act) && !(residual && before);
  const Filter filter{weights.filters.data(), weights.bias.data(), fused ? node.epilogue : nothing};
  const model::Epilogue rest = fused ? nothing : node.epilogue;
  const std::size_t residual_at = node.input_count - 1;
  Step step;
  step.run = [=](const StepArgs& a) {
    const std::size_t row = g.out_width * g.channels;
    parallel(g.out_height, g.out_height * row * g.kh * g.kw / 4, threads,
             [&](std::size_t begin, std::size_t end) {
               for (std::size_t oy = begin; oy < end; ++oy) {
                 float* to = a.out + oy * row;
                 filter_row(g, filter, a.in[0], oy, to);
                 if (fused && !residual) continue;
                 finish(rest, before, to, residual ? a.in[residual_at] + oy * row : nullptr, to,
                        row);
               }
             });
  };
  return step;
}

}  // namespace spirkiln::cpu
