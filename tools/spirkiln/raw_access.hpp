// SPDX-License-Identifier: Apache-2.0
// The strict form of the dialect: stored values are touched through its functions only.
#pragma once

#include <vector>

#include "diagnostics.hpp"

namespace spirkiln::gen {

// An error for every element of a buffer of sfp, sfpvec2/4/8 or sfpmat4 that is read or written
// directly. What is given to sfp2lfp(), sfp2lfpvec4() or another sfp2*() is no direct access.
std::vector<Diagnostic> find_raw_access(const SourceFile& file);

}  // namespace spirkiln::gen
