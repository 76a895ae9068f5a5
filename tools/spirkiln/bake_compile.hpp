// SPDX-License-Identifier: Apache-2.0
// Stages 3 to 11 for all variants of a bake, and what is said about them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bake_load.hpp"
#include "blob.hpp"
#include "cache.hpp"
#include "newer_extensions.hpp"
#include "second_compiler.hpp"

namespace spirkiln::gen {

// One variant of one kernel.
struct BakeJob {
  std::size_t kernel = 0;
  std::size_t variant = 0;
  std::string text;  // expanded
  std::vector<std::shared_ptr<const SourceFile>> files;  // the kernel and what it includes
  std::string key;
  std::vector<Diagnostic> diagnostics;
  bool ok = false;
  std::vector<RequiredExtension> newer;    // required ones that what is linked in does not know
  const SecondCompiler* second = nullptr;  // who compiles it; null: what is linked in
  std::string left_out;  // why no variant is made of it, though nothing is wrong with it
  std::shared_ptr<const Blob> blob;
};

// In the order of the kernels and their variants. Counts texts, hits and compilations. Errors: a
// second compiler that is needed and does not work.
Result<std::vector<BakeJob>> compile_all(const std::vector<BakeKernel>& kernels,
                                         const SourceOptions& options, unsigned threads,
                                         const Cache& cache, SourceStore& sources,
                                         BakeStats& stats);

// Says what the compiler said, once for all variants that share it. Returns the number of kernels
// with an error.
std::size_t report(const std::vector<BakeKernel>& kernels, const std::vector<BakeJob>& jobs,
                   const MessageCallback& message);

}  // namespace spirkiln::gen
