// SPDX-License-Identifier: Apache-2.0
// One kernel in one variant to SPIR-V, without a manifest or a table.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glslang_front.hpp"
#include "manifest.hpp"

namespace spirkiln::gen {

struct SourceRequest {
  std::shared_ptr<const SourceFile> source;
  std::string profile = "ncnn-2023";
  std::string form = "fp32";
  std::vector<std::pair<std::string, std::string>> defines;
  VulkanTarget target = VulkanTarget::kAuto;               // at least this
  std::optional<std::array<unsigned, 3>> local_size;       // for a kernel without one
  bool strict = false;                                     // no raw access to stored values
  Optimise optimise = Optimise::kNone;
  std::filesystem::path glsl;                              // the folder that holds dialect/
  std::vector<std::filesystem::path> include_folders;
  std::optional<std::filesystem::path> second;             // as BakeOptions::second
};

struct SourceOutcome {
  bool ok = false;
  std::vector<std::uint32_t> words;  // valid SPIR-V, with names
  std::vector<Diagnostic> diagnostics;
};

SourceOutcome compile_source(const SourceRequest& request, SourceStore& sources);

// Where the dialect is, for a source that need not lie in a project: above the source, beside the
// installed program, or where this library was built.
std::optional<std::filesystem::path> find_dialect_for(const std::filesystem::path& source);

}  // namespace spirkiln::gen
