// SPDX-License-Identifier: Apache-2.0
// What kernels may write because the original reads it so.
#pragma once

#include <string>

namespace spirkiln::gen {

// `source` with every line where it was, but for two things: a struct sfpvec8 of the kernel's own
// is blanked, since it is the dialect's; and a ';' stands behind a store or copy that lacks it,
// since the original's macros are blocks.
std::string read_as_original(const std::string& source);

}  // namespace spirkiln::gen
