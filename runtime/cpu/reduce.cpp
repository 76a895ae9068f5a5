// SPDX-License-Identifier: Apache-2.0
// What makes a number from many: pools, means, squeeze-excite, layer norm, softmax.
#include <algorithm>
#include <limits>

#include "cpu/activation.hpp"
#include "cpu/loops.hpp"
#include "cpu/operators.hpp"

namespace spirkiln::cpu {
namespace {

struct Window {
  std::size_t kh, kw, sh, sw;
  std::ptrdiff_t top, left, bottom, right;
  bool average, counts_padding;
};

SPIRKILN_VECTOR_LOOP void pool_row(const Window& k, const Dims& x, const Dims& y, std::size_t row,
                                   const float* in, float* out) {
  const auto h = static_cast<std::ptrdiff_t>(x.h), w = static_cast<std::ptrdiff_t>(x.w);
  const std::size_t c = y.c;
  for (std::size_t col = 0; col < y.w; ++col, out += c) {
    const float start = k.average ? 0.0f : -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < c; ++i) out[i] = start;
    std::size_t inside = 0, counted = 0;
    for (std::size_t dy = 0; dy < k.kh; ++dy) {
      for (std::size_t dx = 0; dx < k.kw; ++dx) {
        const auto py = static_cast<std::ptrdiff_t>(row * k.sh + dy) - k.top;
        const auto px = static_cast<std::ptrdiff_t>(col * k.sw + dx) - k.left;
        if (py < h + k.bottom && px < w + k.right) ++counted;
        if (py < 0 || py >= h || px < 0 || px >= w) continue;
        ++inside;
        const float* from = in + static_cast<std::size_t>(py * w + px) * c;
        if (k.average) {
#pragma omp simd
          for (std::size_t i = 0; i < c; ++i) out[i] += from[i];
        } else {
          // NaN wins and stays, so that it is seen.
#pragma omp simd
          for (std::size_t i = 0; i < c; ++i) {
            out[i] = from[i] > out[i] || from[i] != from[i] ? from[i] : out[i];
          }
        }
      }
    }
    if (!k.average) continue;
    const float factor = 1.0f / static_cast<float>(k.counts_padding ? counted : inside);
#pragma omp simd
    for (std::size_t i = 0; i < c; ++i) out[i] *= factor;
  }
}

// Adds the sum over `pixels` to `sums`. Few enough at a time that fp32 is exact to 1e-6 or so.
SPIRKILN_VECTOR_LOOP void sum_pixels(const float* x, std::size_t pixels, std::size_t c,
                                     float* block, double* sums) {
  constexpr std::size_t kBlock = 256;
  for (std::size_t begin = 0; begin < pixels; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, pixels);
    for (std::size_t k = 0; k < c; ++k) block[k] = 0;
    for (std::size_t p = begin; p < end; ++p) {
#pragma omp simd
      for (std::size_t k = 0; k < c; ++k) block[k] += x[p * c + k];
    }
#pragma omp simd
    for (std::size_t k = 0; k < c; ++k) sums[k] += static_cast<double>(block[k]);
  }
}

// y = (x w) * scale + bias, w[in][padded out].
SPIRKILN_VECTOR_LOOP void product(const float* x, std::size_t in, const float* w,
                                  const float* scale, const float* bias, float* y, std::size_t out,
                                  std::size_t stride) {
  for (std::size_t o = 0; o < out; ++o) y[o] = 0;
  for (std::size_t k = 0; k < in; ++k) {
    const float v = x[k];
    const float* row = w + k * stride;
#pragma omp simd
    for (std::size_t o = 0; o < out; ++o) y[o] += v * row[o];
  }
#pragma omp simd
  for (std::size_t o = 0; o < out; ++o) y[o] = y[o] * scale[o] + bias[o];
}

SPIRKILN_VECTOR_LOOP void normalise_row(const float* x, const float* gamma, const float* beta,
                                        float epsilon, float* y, std::size_t c) {
  const auto count = static_cast<float>(c);
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t k = 0; k < c; ++k) sum += x[k];
  const float mean = sum / count;
#pragma omp simd reduction(+ : squares)
  for (std::size_t k = 0; k < c; ++k) squares += (x[k] - mean) * (x[k] - mean);
  const float factor = 1.0f / std::sqrt(squares / count + epsilon);
#pragma omp simd
  for (std::size_t k = 0; k < c; ++k) y[k] = (x[k] - mean) * factor * gamma[k] + beta[k];
}

SPIRKILN_VECTOR_LOOP void softmax_row(const float* x, float* y, std::size_t c) {
  float top = x[0], sum = 0;
#pragma omp simd reduction(max : top)
  for (std::size_t k = 0; k < c; ++k) top = top > x[k] ? top : x[k];
#pragma omp simd reduction(+ : sum)
  for (std::size_t k = 0; k < c; ++k) {
    const float e = exp_of(x[k] - top);
    y[k] = e;
    sum += e;
  }
  const float factor = 1.0f / sum;
#pragma omp simd
  for (std::size_t k = 0; k < c; ++k) y[k] *= factor;
}

// A step that makes each pixel's row of channels by itself.
template <typename F>
Step per_pixel(const StepRequest& q, std::size_t work, const F& row) {
  const Dims d = q.output;
  Step step;
  step.in_place = true;
  const int threads = q.threads;
  step.run = [=, f = Finish(q)](const StepArgs& a) {
    parallel(d.pixels(), values_of(d) * work, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) row(a.in[0] + p * d.c, a.out + p * d.c);
      f(a, begin * d.c, end * d.c);
    });
  };
  return step;
}

}  // namespace

Step pool(const StepRequest& q) {
  const std::int32_t* i = q.node.i;
  const bool average = q.node.op == model::Op::kAvgPool;
  const Window window{static_cast<std::size_t>(i[0]),
                      static_cast<std::size_t>(i[1]),
                      static_cast<std::size_t>(i[2]),
                      static_cast<std::size_t>(i[3]),
                      i[4],
                      i[5],
                      i[6],
                      i[7],
                      average,
                      average && i[8] != 0};
  const Dims x = q.inputs[0], y = q.output;
  Step step;
  const int threads = q.threads;
  step.run = [=, f = Finish(q)](const StepArgs& a) {
    const std::size_t row = std::size_t{y.w} * y.c;
    parallel(y.h, values_of(x), threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        pool_row(window, x, y, r, a.in[0], a.out + r * row);
      }
      f(a, begin * row, end * row);
    });
  };
  return step;
}

Step global_mean(const StepRequest& q) {
  const Dims x = q.inputs[0];
  // Sums of stretches of pixels, so that what threads add up does not depend on their number.
  constexpr std::size_t kStretches = 64;
  const std::size_t stretches = std::min<std::size_t>(kStretches, x.pixels() / 64 + 1);
  Step step;
  step.scratch_bytes = stretches * x.c * (sizeof(double) + sizeof(float));
  const int threads = q.threads;
  step.run = [=, f = Finish(q)](const StepArgs& a) {
    const std::size_t c = x.c, pixels = x.pixels();
    auto* sums = reinterpret_cast<double*>(a.scratch);
    auto* blocks = reinterpret_cast<float*>(sums + stretches * c);
    std::fill_n(sums, stretches * c, 0.0);
    parallel(stretches, values_of(x), threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t s = begin; s < end; ++s) {
        const std::size_t from = pixels * s / stretches, to = pixels * (s + 1) / stretches;
        sum_pixels(a.in[0] + from * c, to - from, c, blocks + s * c, sums + s * c);
      }
    });
    for (std::size_t k = 0; k < c; ++k) {
      double sum = 0;
      for (std::size_t s = 0; s < stretches; ++s) sum += sums[s * c + k];
      a.out[k] = static_cast<float>(sum / static_cast<double>(pixels));
    }
    f(a, 0, c);
  };
  return step;
}

Step squeeze_excite(const StepRequest& q) {
  const auto in = static_cast<std::size_t>(q.node.i[10]),
             out = static_cast<std::size_t>(q.node.i[11]),
             middle = static_cast<std::size_t>(q.node.i[12]);
  const model::Epilogue first{static_cast<model::Activation>(q.node.i[13]), q.node.f[0],
                              q.node.f[1], 1.0f, 0.0f};
  Step step;
  step.scratch_bytes = middle * sizeof(float);
  step.run = [=, f = Finish(q), consts = q.consts](const StepArgs& a) {
    const auto& c = *consts;
    auto* mid = reinterpret_cast<float*>(a.scratch);
    product(a.in[0], in, c[0].data(), c[1].data(), c[2].data(), mid, middle, cpad(middle));
    finish(first, false, mid, nullptr, mid, middle);
    product(mid, middle, c[3].data(), c[4].data(), c[5].data(), a.out, out, cpad(out));
    f(a, 0, out);
  };
  return step;
}

Step layer_norm(const StepRequest& q) {
  return per_pixel(q, 4,
                   [consts = q.consts, epsilon = q.node.f[0], c = std::size_t{q.output.c}](
                       const float* x, float* y) {
                     normalise_row(x, (*consts)[0].data(), (*consts)[1].data(), epsilon, y, c);
                   });
}

Step softmax(const StepRequest& q) {
  return per_pixel(
      q, 8, [c = std::size_t{q.output.c}](const float* x, float* y) { softmax_row(x, y, c); });
}

}  // namespace spirkiln::cpu
