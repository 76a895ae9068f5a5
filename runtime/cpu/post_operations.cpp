// SPDX-License-Identifier: Apache-2.0
#include "cpu/post_operations.hpp"

#include <cmath>

namespace spirkiln::cpu {

using dnnl::algorithm;
using model::Activation;

bool append_activation(dnnl::post_ops& ops, const model::Epilogue& e) {
  switch (e.act) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      ops.append_eltwise(1.0f, algorithm::eltwise_relu, 0.0f, 0.0f);
      break;
    case Activation::kClip:
      ops.append_eltwise(1.0f, algorithm::eltwise_clip, e.a, e.b);
      break;
    case Activation::kHardSigmoid:
      // clamp(a x + b, 0, 1) with the clamp first: oneDNN 2.6 computes two linear ones wrongly.
      if (!(e.a > 1e-6f)) return false;
      ops.append_eltwise(1.0f, algorithm::eltwise_clip, -e.b / e.a, (1.0f - e.b) / e.a);
      ops.append_eltwise(1.0f, algorithm::eltwise_linear, e.a * e.post_scale,
                         e.b * e.post_scale + e.post_bias);
      return true;
    case Activation::kHardSwish:
      // oneDNN's is x * clamp(x + 3, 0, 6) / 6.
      if (std::fabs(e.a - 1.0f / 6.0f) > 1e-6f || e.b != 0.5f) return false;
      ops.append_eltwise(1.0f, algorithm::eltwise_hardswish, 0.0f, 0.0f);
      break;
    case Activation::kSigmoid:
      ops.append_eltwise(1.0f, algorithm::eltwise_logistic, 0.0f, 0.0f);
      break;
    case Activation::kSwish:
      ops.append_eltwise(1.0f, algorithm::eltwise_swish, 1.0f, 0.0f);
      break;
    case Activation::kGelu:
      ops.append_eltwise(1.0f, algorithm::eltwise_gelu_erf, 0.0f, 0.0f);
      break;
  }
  if (e.post_scale != 1.0f || e.post_bias != 0.0f) {
    ops.append_eltwise(1.0f, algorithm::eltwise_linear, e.post_scale, e.post_bias);
  }
  return true;
}

}  // namespace spirkiln::cpu
