// SPDX-License-Identifier: Apache-2.0
// Activations, and the numbers of an epilogue (epilogue.glsl). Activations that are made of lines come as
// numbers, so that they share one pipeline:
//   act(x) = clamp(a * x + b, lo, hi), times x where gate is set.
// Those that need exp or erf are chosen by a constant; their code exists only where it is used.

layout(constant_id = 0) const uint act_kind = 0;  // 5 sigmoid, 6 swish, 7 gelu; else of lines

struct Epilogue {
  float a;
  float b;
  float lo;
  float hi;
  float post_scale;
  float post_bias;
  uint gate;
  uint unused;  // whole vectors: in HLSL nothing may follow a structure within a vector
};

// erf to 1.5e-7 (Abramowitz and Stegun 7.1.26): below half precision's eps by far, and below what
// single precision leaves of 1 + erf.
vec4 erf_float(vec4 x) {
  vec4 t = 1.0 / (1.0 + 0.3275911 * abs(x));
  vec4 y = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t +
            0.254829592) * t;
  return sign(x) * (1.0 - y * exp(-x * x));
}

afpvec4 activate_lines(afpvec4 x, Epilogue e) {
  afpvec4 t = clamp(x * afp(e.a) + afp(e.b), afp(e.lo), afp(e.hi));
  return e.gate != 0 ? x * t : t;
}

afpvec4 activate(afpvec4 x, Epilogue e) {
  if (act_kind == 7) {
    // Half precision is too coarse for the polynomial.
    vec4 f = vec4(x);
    return afpvec4(0.5 * f * (1.0 + erf_float(f * 0.70710678)));
  }
  if (act_kind == 5 || act_kind == 6) {
    afpvec4 s = afp(1.0) / (afp(1.0) + exp(-x));
    return act_kind == 6 ? x * s : s;
  }
  return activate_lines(x, e);
}
