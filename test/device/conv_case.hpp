// SPDX-License-Identifier: Apache-2.0
// Convolutions with data, for tests of their kernels.
#pragma once

#include "harness.hpp"

namespace spirkiln::test {

struct Window {
  std::int32_t kh = 1, kw = 1, sh = 1, sw = 1, top = 0, left = 0, bottom = 0, right = 0, dh = 1,
               dw = 1;
};

// `op`: kConv, kDepthwise or kDeconv, whose stride is its window.
Case conv_case(model::Op op, const Dims& x, std::uint32_t cout, const Window& w,
               std::uint32_t seed);

}  // namespace spirkiln::test
