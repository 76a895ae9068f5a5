// SPDX-License-Identifier: Apache-2.0
// Stage 14: the texts that carry a table into a program.
#pragma once

#include <string>
#include <vector>

#include "pack.hpp"

namespace spirkiln::gen {

// NAME_table.S: the table by .incbin. The checksum in it makes every change of the table a change
// of this text, which is what a build system compares.
std::string emit_assembly(const std::string& name, const std::string& table);

// NAME_table.cpp: the table as an array, for toolchains without an assembler that knows .incbin.
std::string emit_array(const std::string& name, const std::string& table);

// NAME_table.hpp: symbols, and the names of kernels and variants as constexpr arrays and enums.
std::string emit_header(const std::string& name, const std::vector<PackKernel>& kernels);

}  // namespace spirkiln::gen
