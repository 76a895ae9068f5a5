// SPDX-License-Identifier: Apache-2.0
// Stages 1 and 2 for all manifests of a bake: each kernel with its source and its variants.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "bake.hpp"
#include "expand.hpp"
#include "files.hpp"
#include "manifest.hpp"

namespace spirkiln::gen {

struct BakeKernel {
  const KernelManifest* manifest = nullptr;
  std::shared_ptr<const SourceFile> source;
  std::filesystem::path dialect;
  std::vector<std::filesystem::path> include_folders;
  Expansion expansion;
};

// Sorted by name. Axes that a kernel's text asks for are added to its manifest.
Result<std::vector<BakeKernel>> load_kernels(const BakeOptions& options,
                                             std::vector<Manifest>& manifests,
                                             SourceStore& sources);

}  // namespace spirkiln::gen
