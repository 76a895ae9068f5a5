// SPDX-License-Identifier: Apache-2.0
// What makes each number from a few others: input, binary, affine, resize, concat.
#include <algorithm>
#include <cstring>

#include "cpu/activation.hpp"
#include "cpu/loops.hpp"
#include "cpu/operators.hpp"

namespace spirkiln::cpu {
namespace {

using model::BinaryOp;

SPIRKILN_VECTOR_LOOP void normalise_pixels(const std::uint8_t* bytes, std::size_t begin,
                                           std::size_t end, const float* scale, const float* shift,
                                           float* out) {
  const float s0 = scale[0], s1 = scale[1], s2 = scale[2];
  const float b0 = shift[0], b1 = shift[1], b2 = shift[2];
  for (std::size_t p = begin; p < end; ++p) {
    const float inside = bytes[4 * p + 3] != 0 ? 1.0f : 0.0f;
    out[3 * p] = (static_cast<float>(bytes[4 * p]) * s0 + b0) * inside;
    out[3 * p + 1] = (static_cast<float>(bytes[4 * p + 1]) * s1 + b1) * inside;
    out[3 * p + 2] = (static_cast<float>(bytes[4 * p + 2]) * s2 + b2) * inside;
  }
}

template <BinaryOp kOp>
inline float combine(float x, float y) {
  switch (kOp) {
    case BinaryOp::kAdd:
      return x + y;
    case BinaryOp::kSub:
      return x - y;
    case BinaryOp::kMul:
      return x * y;
    case BinaryOp::kDiv:
      return x / y;
  }
  return x;
}

// How the second operand is spread over the first: one value a number, a channel or a pixel.
enum class Spread { kSame, kChannel, kPixel };

template <BinaryOp kOp>
inline void binary_each(Spread spread, const float* x, const float* y, float* out,
                        std::size_t pixels, std::size_t c) {
  if (spread == Spread::kSame) {
#pragma omp simd
    for (std::size_t i = 0; i < pixels * c; ++i) out[i] = combine<kOp>(x[i], y[i]);
    return;
  }
  for (std::size_t p = 0; p < pixels; ++p) {
    const float* from = x + p * c;
    float* to = out + p * c;
    if (spread == Spread::kChannel) {
#pragma omp simd
      for (std::size_t k = 0; k < c; ++k) to[k] = combine<kOp>(from[k], y[k]);
    } else {
      const float value = y[p];
#pragma omp simd
      for (std::size_t k = 0; k < c; ++k) to[k] = combine<kOp>(from[k], value);
    }
  }
}

SPIRKILN_VECTOR_LOOP void binary_pixels(BinaryOp op, Spread spread, const float* x, const float* y,
                                        float* out, std::size_t pixels, std::size_t c) {
  switch (op) {
    case BinaryOp::kAdd:
      return binary_each<BinaryOp::kAdd>(spread, x, y, out, pixels, c);
    case BinaryOp::kSub:
      return binary_each<BinaryOp::kSub>(spread, x, y, out, pixels, c);
    case BinaryOp::kMul:
      return binary_each<BinaryOp::kMul>(spread, x, y, out, pixels, c);
    case BinaryOp::kDiv:
      return binary_each<BinaryOp::kDiv>(spread, x, y, out, pixels, c);
  }
}

SPIRKILN_VECTOR_LOOP void affine_pixels(const float* x, const float* scale, const float* bias,
                                        float* out, std::size_t pixels, std::size_t c) {
  for (std::size_t p = 0; p < pixels; ++p) {
#pragma omp simd
    for (std::size_t k = 0; k < c; ++k) out[p * c + k] = x[p * c + k] * scale[k] + bias[k];
  }
}

// Output rows [begin, end) of a picture that is enlarged by whole factors; `r` is added where it is
// not null.
SPIRKILN_VECTOR_LOOP void resize_rows(const float* x, const float* r, float* out, std::size_t begin,
                                      std::size_t end, std::size_t width, std::size_t c,
                                      std::size_t fy, std::size_t fx) {
  for (std::size_t row = begin; row < end; ++row) {
    const float* from = x + row / fy * width * c;
    std::size_t at = row * width * fx * c;
    for (std::size_t p = 0; p < width; ++p, from += c) {
      for (std::size_t copy = 0; copy < fx; ++copy, at += c) {
        if (r != nullptr) {
#pragma omp simd
          for (std::size_t k = 0; k < c; ++k) out[at + k] = from[k] + r[at + k];
        } else {
#pragma omp simd
          for (std::size_t k = 0; k < c; ++k) out[at + k] = from[k];
        }
      }
    }
  }
}

// An input of a concat: its width, its channels and where they go, and by how much it is enlarged.
struct Joined {
  std::size_t width, channels, first, fy, fx;
};

SPIRKILN_VECTOR_LOOP void join_rows(const Joined& j, const float* x, float* out, std::size_t begin,
                                    std::size_t end, std::size_t width, std::size_t c) {
  for (std::size_t row = begin; row < end; ++row) {
    const float* from = x + row / j.fy * j.width * j.channels;
    float* to = out + row * width * c + j.first;
    for (std::size_t p = 0; p < j.width; ++p, from += j.channels) {
      for (std::size_t copy = 0; copy < j.fx; ++copy, to += c) {
#pragma omp simd
        for (std::size_t k = 0; k < j.channels; ++k) to[k] = from[k];
      }
    }
  }
}

}  // namespace

void normalise(const std::uint8_t* bytes, std::size_t pixels, const float scale[4],
               const float shift[4], int threads, float* out) {
  parallel(pixels, pixels * 7, threads, [&](std::size_t begin, std::size_t end) {
    normalise_pixels(bytes, begin, end, scale, shift, out);
  });
}

Finish::Finish(const StepRequest& q)
    : epilogue(q.node.epilogue),
      residual((q.node.flags & model::kHasResidual) != 0),
      before((q.node.flags & model::kResidualBefore) != 0),
      residual_at(q.node.input_count - 1) {}

void Finish::operator()(const StepArgs& a, std::size_t begin, std::size_t end) const {
  if (is_identity(epilogue) && !residual) return;
  finish(epilogue, before, a.out + begin, residual ? a.in[residual_at] + begin : nullptr,
         a.out + begin, end - begin);
}

Step binary(const StepRequest& q) {
  const Dims x = q.inputs[0], y = q.inputs[1];
  Spread spread = Spread::kSame;
  if (y != x) spread = y.c == x.c ? Spread::kChannel : Spread::kPixel;
  const auto op = static_cast<BinaryOp>(q.node.i[0]);
  Step step;
  step.in_place = true;
  const int threads = q.threads;
  step.run = [=, f = Finish(q)](const StepArgs& a) {
    const std::size_t c = x.c;
    parallel(x.pixels(), values_of(x) * 2, threads, [&](std::size_t begin, std::size_t end) {
      const float* second = a.in[1];
      if (spread == Spread::kSame) second += begin * c;
      if (spread == Spread::kPixel) second += begin;
      binary_pixels(op, spread, a.in[0] + begin * c, second, a.out + begin * c, end - begin, c);
      f(a, begin * c, end * c);
    });
  };
  return step;
}

Step affine(const StepRequest& q) {
  const Dims x = q.inputs[0];
  Step step;
  step.in_place = true;
  const int threads = q.threads;
  step.run = [=, f = Finish(q), consts = q.consts](const StepArgs& a) {
    const std::size_t c = x.c;
    parallel(x.pixels(), values_of(x) * 2, threads, [&](std::size_t begin, std::size_t end) {
      affine_pixels(a.in[0] + begin * c, (*consts)[0].data(), (*consts)[1].data(),
                    a.out + begin * c, end - begin, c);
      f(a, begin * c, end * c);
    });
  };
  return step;
}

Step resize(const StepRequest& q) {
  const Dims x = q.inputs[0], y = q.output;
  const auto fy = static_cast<std::size_t>(q.node.i[0]), fx = static_cast<std::size_t>(q.node.i[1]);
  // A plain sum needs no second look at the numbers.
  const Finish f(q);
  const bool sum = f.residual && is_identity(f.epilogue);
  Step step;
  const int threads = q.threads;
  step.run = [=](const StepArgs& a) {
    const std::size_t row = std::size_t{y.w} * y.c;
    parallel(y.h, values_of(y) * 2, threads, [&](std::size_t begin, std::size_t end) {
      resize_rows(a.in[0], sum ? a.in[f.residual_at] : nullptr, a.out, begin, end, x.w, x.c, fy,
                  fx);
      if (!sum) f(a, begin * row, end * row);
    });
  };
  return step;
}

Step concat(const StepRequest& q) {
  const auto joined = static_cast<std::size_t>(q.node.i[0]);
  const Dims y = q.output;
  std::vector<Joined> inputs;
  std::size_t first = 0;
  for (std::size_t i = 0; i < joined; ++i) {
    const Dims& x = q.inputs[i];
    inputs.push_back({x.w, x.c, first, y.h / x.h, y.w / x.w});
    first += x.c;
  }
  Step step;
  const int threads = q.threads;
  step.run = [=, f = Finish(q)](const StepArgs& a) {
    const std::size_t row = std::size_t{y.w} * y.c;
    parallel(y.h, values_of(y) * 2, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = 0; i < joined; ++i) {
        join_rows(inputs[i], a.in[i], a.out, begin, end, y.w, y.c);
      }
      f(a, begin * row, end * row);
    });
  };
  return step;
}

}  // namespace spirkiln::cpu
