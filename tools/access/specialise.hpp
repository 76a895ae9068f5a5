// SPDX-License-Identifier: Apache-2.0
// A module for given values of its specialization constants, as a driver makes it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "second_compiler.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln::access {

// Lines that hold from one instruction to the next, as the front end and the optimiser write them,
// go with the instruction that they stand at. So each gets its own. Where functions are still as
// they were written, lines before a function are taken for declarations, and left out.
enum class Inlined { kNo, kYes };
Result<std::vector<std::uint32_t>> with_own_lines(const std::vector<std::uint32_t>& words,
                                                  Inlined inlined);

// The constants become plain ones, and code that they rule out goes; lines stay. Errors:
// kUnsupported for what SPIRV-Tools' optimiser cannot take. `tools` does it where it is not null.
Result<std::vector<std::uint32_t>> specialise(
    const std::vector<std::uint32_t>& words,
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& specs,
    const gen::SecondCompiler* tools = nullptr);

}  // namespace spirkiln::access
