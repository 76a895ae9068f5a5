// SPDX-License-Identifier: Apache-2.0
// What ends a layer: 0 nothing, 1 relu, 2 leaky relu (slope a), 3 clip (from a to b), 4 sigmoid,
// 5 mish, 6 hard swish (x * clamp(a x + b, 0, 1)). A kernel includes it by this name; found
// here unless a file of that name lies beside the kernel. Everything that could overflow in 16 bits
// is computed in 32.
#ifndef SPIRKILN_ACTIVATION
#define SPIRKILN_ACTIVATION

vec4 spk_activation(vec4 x, int type, float a, float b) {
  if (type == 1) x = max(x, vec4(0.0));
  if (type == 2) x = mix(x * a, x, greaterThan(x, vec4(0.0)));
  if (type == 3) x = clamp(x, vec4(a), vec4(b));
  if (type == 4) x = 1.0 / (1.0 + exp(-x));
  if (type == 5) {
    // tanh(log(1 + e^x)) without a tanh: (n^2 + 2n) / (n^2 + 2n + 2) for n = e^x, 1 for large x.
    vec4 n = exp(min(x, vec4(20.0)));
    n = n * (n + 2.0);
    x *= n / (n + 2.0);
  }
  if (type == 6) x *= clamp(x * a + b, vec4(0.0), vec4(1.0));
  return x;
}

afpvec4 activation_afpvec4(afpvec4 v, int type, float a, float b) {
  return type == 0 ? v : afpvec4(spk_activation(vec4(v), type, a, b));
}

afp activation_afp(afp v, int type, float a, float b) {
  return type == 0 ? v : afp(spk_activation(vec4(v), type, a, b).x);
}

#if SPIRKILN_profile != 2026
afpvec8 activation_afpvec8(afpvec8 v, int type, float a, float b) {
  return afpvec8(activation_afpvec4(v[0], type, a, b), activation_afpvec4(v[1], type, a, b));
}
#endif

#endif
