// SPDX-License-Identifier: Apache-2.0
// Modules into the coded form that spirkiln/table_format.hpp describes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spirkiln::gen {

struct CodedModules {
  std::string dictionary;
  std::vector<std::string> modules;  // one for each of the input, in its order
  std::vector<bool> raw;             // stored as words: the coder does not know such a module
};

// The bytes depend on the modules and their order only. Every coded module was decoded again by the
// runtime's own decoder and found equal.
CodedModules code_modules(const std::vector<std::span<const std::uint32_t>>& modules,
                          unsigned threads);

}  // namespace spirkiln::gen
