// SPDX-License-Identifier: Apache-2.0
// SPIR-V back into other languages, for people to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln::gen {

enum class Language { kGlsl, kMsl, kHlsl };

// Errors: kUnsupported with SPIRV-Cross's reason.
Result<std::string> cross_compile(const std::vector<std::uint32_t>& words, Language language);

}  // namespace spirkiln::gen
