// SPDX-License-Identifier: Apache-2.0
// Stages 7, 8 and 10: SPIRV-Tools' optimiser, stripping and validator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glslang_front.hpp"
#include "manifest.hpp"

namespace spirkiln::gen {

// Bindings and specialization constants survive even where a variant does not use them, so that
// all variants of a kernel are set up alike.
Result<std::vector<std::uint32_t>> optimise(const std::vector<std::uint32_t>& words,
                                            Optimise policy, const Target& target);

// Without names, lines, sources and non-semantic instructions.
Result<std::vector<std::uint32_t>> strip(const std::vector<std::uint32_t>& words,
                                         const Target& target);

Status validate(const std::vector<std::uint32_t>& words, const Target& target);

Result<std::string> disassemble(const std::vector<std::uint32_t>& words);

// "SPIRV-Tools v2023.1 ...".
std::string spirv_tools_version();

}  // namespace spirkiln::gen
