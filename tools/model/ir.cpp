// SPDX-License-Identifier: Apache-2.0
#include "ir.hpp"

#include "pack_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spirkiln::packer {

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kConv:
      return "conv";
    case Kind::kDepthwise:
      return "depthwise";
    case Kind::kDeconv:
      return "deconv";
    case Kind::kMaxPool:
      return "max_pool";
    case Kind::kAvgPool:
      return "avg_pool";
    case Kind::kGlobalMean:
      return "global_mean";
    case Kind::kSqueezeExcite:
      return "squeeze_excite";
    case Kind::kBinary:
      return "binary";
    case Kind::kAffine:
      return "affine";
    case Kind::kResize:
      return "resize";
    case Kind::kConcat:
      return "concat";
    case Kind::kLayerNorm:
      return "layer_norm";
    case Kind::kAttention:
      return "attention";
    case Kind::kSoftmax:
      return "softmax";
    case Kind::kErf:
      return "erf";
    case Kind::kSqrt:
      return "sqrt";
    case Kind::kSquare:
      return "square";
    case Kind::kMeanC:
      return "mean over channels";
  }
  return "?";
}

int Graph::add_tensor(std::string name, Dims dims) {
  tensors.push_back({std::move(name), std::move(dims)});
  return static_cast<int>(tensors.size()) - 1;
}

void Graph::require_equal(const Sym& a, const Sym& b, const std::string& message) {
  const Sym difference = syms.sub(a, b);
  if (difference.is(0)) return;
  const std::string full =
      fmt::format("{}: {} must equal {}", message, syms.to_string(a), syms.to_string(b));
  if (difference.constant()) fail_unsupported(full);
  const bool known = std::any_of(requirements.begin(), requirements.end(), [&](const auto& r) {
    return (r.a == a && r.b == b) || (r.a == b && r.b == a);
  });
  if (!known) requirements.push_back({a, b, full});
}

}  // namespace spirkiln::packer
