// SPDX-License-Identifier: Apache-2.0
// The first phase: manifests and sources in, compiled kernels out.
#pragma once

#include <vector>

#include "bake_compile.hpp"
#include "bake_load.hpp"
#include "pack.hpp"
#include "phases.hpp"

namespace spirkiln::gen {

inline constexpr std::uintmax_t kMaxCacheBytes = std::uintmax_t{512} << 20;

struct CompiledKernels {
  std::vector<Manifest> manifests;
  std::vector<BakeKernel> kernels;  // sorted by name
  std::vector<BakeJob> jobs;
  // One a kernel. What was left out is missing; of a kernel, that may be every variant.
  std::vector<PackKernel> packing;
  BakeStats stats;
};

// Messages about sources go to `message`, once for all variants that share them; the Error then
// only counts them.
Result<CompiledKernels> compile_kernels(const SourceOptions& options, const Cache& cache,
                                        SourceStore& sources, const MessageCallback& message);

// 0 stands for the number of processors.
unsigned thread_count(unsigned jobs);

}  // namespace spirkiln::gen
