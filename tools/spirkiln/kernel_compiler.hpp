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
#include "second_compiler.hpp"

namespace spirkiln::gen {

struct CompileRequest {
  const std::string& text;  // from preprocess()
  const std::string& name;  // the kernel's path, for messages
  Optimise optimise;
  VulkanTarget target;  // at least this
  const SecondCompiler* second = nullptr;  // who compiles; null: what is linked in
  bool debug = false;              // names, lines and files' names stay
  bool optimise_required = true;  // else what the optimiser fails at is kept, with a warning
};

struct CompileOutcome {
  std::shared_ptr<const Blob> blob;  // null after an error
  bool from_cache = false;
  std::vector<Diagnostic> diagnostics;
};

// Covers the program, the second compiler where it compiles, the options and the tokens of the
// text: not its comments, blank lines or line numbers, which leave no trace in a stripped module;
// with `debug`, all of it.
std::string compile_key(const CompileRequest& request);

CompileOutcome compile_kernel(const CompileRequest& request, const std::string& key,
                              const Cache& cache, SourceStore& sources);

// What a table says it was made with.
std::string tool_versions();

// The versions and a hash of this program's own file: the compilers are linked in, so a rebuilt
// generator never takes an older one's results for its own.
std::string program_fingerprint();

}  // namespace spirkiln::gen
