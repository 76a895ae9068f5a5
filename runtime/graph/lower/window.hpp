// SPDX-License-Identifier: Apache-2.0
// The window of a convolution, as a node has it.
#pragma once

#include "graph/lower/common.hpp"

namespace spirkiln::lower {

struct Window {
  std::int64_t kh, kw, stride_h, stride_w, top, left, bottom, right, dilation_h, dilation_w;
};

// A window of one pixel that every pixel of the input is once.
inline bool is_pointwise(const Window& w) {
  return w.kh == 1 && w.kw == 1 && w.stride_h == 1 && w.stride_w == 1 &&
         (w.top | w.left | w.bottom | w.right) == 0;
}

// Errors: numbers out of range, and an output whose size does not follow from them.
Result<Window> read_window(const LowerRequest& request);
// That a convolution's channels are those of its input and output.
Status check_channels(const LowerRequest& request);
// That a transposed convolution's output is its input times the window.
Status check_deconv(const LowerRequest& request);

}  // namespace spirkiln::lower
