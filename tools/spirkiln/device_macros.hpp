// SPDX-License-Identifier: Apache-2.0
// The macros that a kernel may test: NCNN_* from a variant and its axes, ncnn_* about the device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnostics.hpp"

namespace spirkiln::gen {

// A name that the dialect defines, or that an axis or -D may define. Each stands for 0 where
// nothing does.
bool is_dialect_macro(std::string_view name);

// Those of them that an axis or -D may define: all that a variant's name does not decide.
bool is_axis_macro(std::string_view name);

// The known name with the fewest differences.
std::string nearest_dialect_macro(std::string_view name);

// Names NCNN_* and ncnn_* in the #if lines of a text, each once, in order.
std::vector<std::string> tested_dialect_macros(std::string_view source);

// An error for every tested name that is unknown, unless the text defines it.
std::vector<Diagnostic> check_dialect_macros(const SourceFile& file);

}  // namespace spirkiln::gen
