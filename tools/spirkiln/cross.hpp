// SPDX-License-Identifier: Apache-2.0
// SPIR-V back into other languages, for people to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glslang_front.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln::gen {

enum class Language { kGlsl, kEssl, kMsl, kHlsl };

// The words are validated for `target` first, since SPIRV-Cross crashes on many that are not valid.
// Errors: kCorrupt with the validator's reason, kUnsupported with SPIRV-Cross's.
Result<std::string> cross_compile(const std::vector<std::uint32_t>& words, const Target& target,
                                  Language language);

}  // namespace spirkiln::gen
