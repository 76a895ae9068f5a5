// SPDX-License-Identifier: Apache-2.0
// What every kernel does with its value v before it stores it, r being the residual:
//   residual 0 or 1: y = act(v) * post_scale + post_bias (+ r)
//   residual 2:      y = act(v + r) * post_scale + post_bias

#include "activation.glsl"

layout(constant_id = 1) const uint residual = 0;  // 0 none, 1 after, 2 before the activation

afpvec4 epilogue(afpvec4 v, afpvec4 r, Epilogue e) {
  if (residual == 2) v += r;
  v = activate(v, e) * afp(e.post_scale) + afp(e.post_bias);
  if (residual == 1) v += r;
  return v;
}

// The residual's vector i; costs nothing where there is none.
#define load_residual(buf, i) (residual != 0 ? tensor_ld4(buf, i) : afpvec4(0.0))
