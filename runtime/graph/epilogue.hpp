// SPDX-License-Identifier: Apache-2.0
// What may be asked of a node's epilogue.
#pragma once

#include "spirkiln/model_format.hpp"

namespace spirkiln {

// Whether values pass through it as they are; a residual stands beside it.
inline bool is_identity(const model::Epilogue& e) {
  return e.act == model::Activation::kNone && e.post_scale == 1.0f && e.post_bias == 0.0f;
}

}  // namespace spirkiln
