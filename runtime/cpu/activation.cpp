// SPDX-License-Identifier: Apache-2.0
#include "cpu/activation.hpp"

#include "cpu/loops.hpp"

namespace spirkiln::cpu {
namespace {

using model::Activation;

template <Activation kAct>
inline float activate(float x, float a, float b) {
  switch (kAct) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return at_least(x, 0.0f);
    case Activation::kClip:
      return at_most(at_least(x, a), b);
    case Activation::kHardSigmoid:
      return unit(a * x + b);
    case Activation::kHardSwish:
      return x * unit(a * x + b);
    case Activation::kSigmoid:
      return sigmoid(x);
    case Activation::kSwish:
      return x * sigmoid(x);
    case Activation::kGelu:
      return x * 0.5f * (1.0f + erf_of(x * 0.70710678f));
  }
  return x;
}

template <Activation kAct>
inline void each(const model::Epilogue& e, bool before, const float* v, const float* r, float* y,
                 std::size_t n) {
  const float a = e.a, b = e.b, scale = e.post_scale, bias = e.post_bias;
  if (r == nullptr) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y[i] = activate<kAct>(v[i], a, b) * scale + bias;
  } else if (before) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y[i] = activate<kAct>(v[i] + r[i], a, b) * scale + bias;
  } else {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y[i] = activate<kAct>(v[i], a, b) * scale + bias + r[i];
  }
}

}  // namespace

SPIRKILN_VECTOR_LOOP void finish(const model::Epilogue& e, bool before, const float* v,
                                 const float* r, float* y, std::size_t n) {
  switch (e.act) {
    case Activation::kNone:
      return each<Activation::kNone>(e, before, v, r, y, n);
    case Activation::kRelu:
      return each<Activation::kRelu>(e, before, v, r, y, n);
    case Activation::kClip:
      return each<Activation::kClip>(e, before, v, r, y, n);
    case Activation::kHardSigmoid:
      return each<Activation::kHardSigmoid>(e, before, v, r, y, n);
    case Activation::kHardSwish:
      return each<Activation::kHardSwish>(e, before, v, r, y, n);
    case Activation::kSigmoid:
      return each<Activation::kSigmoid>(e, before, v, r, y, n);
    case Activation::kSwish:
      return each<Activation::kSwish>(e, before, v, r, y, n);
    case Activation::kGelu:
      return each<Activation::kGelu>(e, before, v, r, y, n);
  }
}

}  // namespace spirkiln::cpu
