// SPDX-License-Identifier: Apache-2.0
// Activations as code that a compiler turns into vectors: no calls, no branches. NaN stays NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "graph/epilogue.hpp"
#include "spirkiln/model_format.hpp"

namespace spirkiln::cpu {

inline float at_least(float x, float low) { return x < low ? low : x; }
inline float at_most(float x, float high) { return x > high ? high : x; }
inline float unit(float x) { return at_most(at_least(x, 0.0f), 1.0f); }

// e^x within 2e-7 of its value; below -87 the smallest normal number or so, above 88 about 1.6e38.
inline float exp_of(float x) {
  x = at_most(at_least(x, -87.0f), 88.0f);
  // x = k ln 2 + r with |r| <= ln 2 / 2. Adding 1.5 * 2^23 rounds to a whole number.
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float k = shifted - 12582912.0f;
  const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
  // Taylor to the seventh power: what is left out is below (ln 2 / 2)^8 / 8! = 5e-9.
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // The low bits of `shifted` hold k; of NaN they hold anything, and p is NaN.
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(shifted);
  return p * std::bit_cast<float>((bits + 127u) << 23);
}

inline float sigmoid(float x) { return 1.0f / (1.0f + exp_of(-x)); }

// Abramowitz and Stegun 7.1.26: within 1.5e-7.
inline float erf_of(float x) {
  const float a = std::fabs(x);
  const float t = 1.0f / (1.0f + 0.3275911f * a);
  const float p = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t +
                   0.254829592f) *
                  t;
  return std::copysign(1.0f - p * exp_of(-a * a), x);
}

// y = act(v (+ r)) * post_scale + post_bias (+ r) for `n` values; r null where there is none. All
// three may be the same array.
void finish(const model::Epilogue& e, bool residual_before, const float* v, const float* r,
            float* y, std::size_t n);

}  // namespace spirkiln::cpu
