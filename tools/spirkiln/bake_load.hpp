// SPDX-License-Identifier: Apache-2.0
// Stages 1 and 2 for all manifests of a bake: each kernel with its source and its variants.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "expand.hpp"
#include "files.hpp"
#include "manifest.hpp"
#include "phases.hpp"

namespace spirkiln::gen {

struct BakeKernel {
  const KernelManifest* manifest = nullptr;
  std::shared_ptr<const SourceFile> source;
  std::filesystem::path dialect;
  std::vector<std::filesystem::path> include_folders;
  Expansion expansion;
};

// Sorted by name. Axes that a kernel's text asks for are added to its manifest.
Result<std::vector<BakeKernel>> load_kernels(const SourceOptions& options,
                                             std::vector<Manifest>& manifests,
                                             SourceStore& sources);

// The folder `glsl` that belongs to a manifest or a kernel: the nearest one with
// dialect/dialect.glsl in it or in a folder above, else the installed one, else that of the sources
// which this library was built from.
std::optional<std::filesystem::path> find_glsl_folder(const std::filesystem::path& file);

}  // namespace spirkiln::gen
