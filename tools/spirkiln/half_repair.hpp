// SPDX-License-Identifier: Apache-2.0
// GLSL turns whole numbers into floats by itself, but neither those nor floats into 16-bit floats.
// A kernel that computes in `afp` would compile in one variant and not in another. The rule, and
// what it means for results, is in glsl/README.md ("Numbers in 16-bit arithmetic").
#pragma once

#include <string>

#include "glslang_front.hpp"

namespace spirkiln::gen {

// `compile`, and again with one conversion more as long as the first error is about a 16-bit float
// and another number. A text without 16-bit floats, or right as it is, compiles as it stands.
FrontResult compile_with_repair(const std::string& text, const std::string& name,
                                const Target& target, SourceStore& sources,
                                const CompileFunction& compile);

}  // namespace spirkiln::gen
