// SPDX-License-Identifier: Apache-2.0
// Stages 5 to 11 for one expanded text: cache, compile, optimise, canonical ids, strip, validate,
// reflect.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "blob.hpp"
#include "cache.hpp"
#include "glslang_front.hpp"
#include "manifest.hpp"

namespace spirkiln::gen {

struct CompileRequest {
  const std::string& text;  // from preprocess()
  const std::string& name;  // the kernel's path, for messages
  Optimise optimise;
  VulkanTarget target;  // at least this
};

struct CompileOutcome {
  std::shared_ptr<const Blob> blob;  // null after an error
  bool from_cache = false;
  std::vector<Diagnostic> diagnostics;
};

// Covers the tool versions, the options and the tokens of the text: not its comments, blank lines
// or line numbers, which leave no trace in a stripped module.
std::string compile_key(const CompileRequest& request);

CompileOutcome compile_kernel(const CompileRequest& request, const std::string& key,
                              const Cache& cache, SourceStore& sources);

// Everything that a table's bytes depend on besides the sources.
std::string tool_versions();

}  // namespace spirkiln::gen
