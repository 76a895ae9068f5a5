// SPDX-License-Identifier: Apache-2.0
// The window of a convolution, as a node has it.
#pragma once

#include "graph/lower/common.hpp"

namespace spirkiln::lower {

struct Window {
  std::int64_t kh, kw, stride_h, stride_w, top, left, bottom, right, dilation_h, dilation_w;
};

// Errors: numbers out of range, and an output whose size does not follow from them.
Result<Window> read_window(const LowerRequest& request);
// That a convolution's channels are those of its input and output.
Status check_channels(const LowerRequest& request);
// That a transposed convolution's output is its input times the window.
Status check_deconv(const LowerRequest& request);

}  // namespace spirkiln::lower
