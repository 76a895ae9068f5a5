// SPDX-License-Identifier: Apache-2.0
// The first phase as a process of its own.
#pragma once

#include <filesystem>
#include <optional>

#include "diagnostics.hpp"
#include "phases.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln::gen {

struct ObjectOptions : SourceOptions {  // one input, no folder
  std::filesystem::path output;         // its folder exists
  std::optional<std::filesystem::path> depfile;
};

// Writes the object and the depfile; both or, after an error, none. Reads the manifest, the sources
// of the chosen kernels and what they include, and nothing else. Messages as for bake().
Result<BakeStats> compile_object(const ObjectOptions& options, const MessageCallback& message);

}  // namespace spirkiln::gen
