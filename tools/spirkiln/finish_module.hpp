// SPDX-License-Identifier: Apache-2.0
// Stages 7 to 10: from the front end's module to the words that are stored.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "glslang_front.hpp"
#include "manifest.hpp"
#include "second_compiler.hpp"

namespace spirkiln::gen {

struct FinishOptions {
  Optimise optimise = Optimise::kNone;
  bool optimise_required = true;  // else what the optimiser fails at goes on as it came
  bool keep_names = false;        // and lines
};

struct FinishedModule {
  std::vector<std::uint32_t> words;  // valid; canonical where that is possible
  std::map<std::uint32_t, std::string> constant_names;  // SpecId -> name, from before stripping
  std::string not_optimised;  // what the optimiser said where it failed and may; else empty
};

// By `second`, or by what is linked in where that is null. Errors name the stage.
Result<FinishedModule> finish_module(const std::vector<std::uint32_t>& words,
                                     const FinishOptions& options, const Target& target,
                                     const SecondCompiler* second);

}  // namespace spirkiln::gen
