// SPDX-License-Identifier: Apache-2.0
// The strict form of the dialect: stored values are touched through its functions only.
#pragma once

#include <memory>
#include <vector>

#include "diagnostics.hpp"

namespace spirkiln::gen {

// An error for every element of an array of sfp, sfpvec2/4/8, sfpmat4, sint8 or sint16 that is read
// or written directly; declared in one of the files, it counts in all of them. What is given to
// sfp2lfp(), sfp2lfpvec4() or another sfp2*() is no direct access. Texts are read as they stand:
// what an #if leaves out counts as well.
std::vector<Diagnostic> find_raw_access(
    const std::vector<std::shared_ptr<const SourceFile>>& files);

}  // namespace spirkiln::gen
