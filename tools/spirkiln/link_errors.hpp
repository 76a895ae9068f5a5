// SPDX-License-Identifier: Apache-2.0
// What glslang finds only when it links: it knows no positions then.
#pragma once

#include "diagnostics.hpp"

namespace spirkiln::gen {

// `expanded` is the text that was linked, `name` the kernel's file.
std::vector<Diagnostic> parse_link_log(std::string_view log, std::string_view expanded,
                                       const std::string& name, SourceStore& sources);

}  // namespace spirkiln::gen
