// SPDX-License-Identifier: Apache-2.0
// 16-bit arithmetic with whole numbers. GLSL converts an int to float by itself, but not to
// float16_t, so `v + 123` compiles in every variant but those with 16-bit arithmetic.
#pragma once

#include "glslang_front.hpp"

namespace spirkiln::gen {

// As compile(). Where its first error is an operator or an assignment between a 16-bit float and
// an integer, and that integer is one literal or name, the text is tried again with float16_t()
// around it, until no such error is left. What glslang accepts is left as it is; what no such
// conversion helps is reported as it was.
FrontResult compile_with_repair(const std::string& text, const std::string& name,
                                const Target& target, SourceStore& sources);

}  // namespace spirkiln::gen
