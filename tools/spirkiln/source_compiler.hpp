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

// What of a source stays visible in a module: nothing, as in tables; names; lines and files as
// well.
enum class Symbols { kNone, kNames, kLines };

struct SourceRequest {
  std::shared_ptr<const SourceFile> source;
  std::string profile = "ncnn-2023";
  std::string form = "fp32";
  std::vector<std::pair<std::string, std::string>> defines;
  VulkanTarget target = VulkanTarget::kAuto;               // at least this
  std::optional<std::array<unsigned, 3>> local_size;       // for a kernel without one
  bool strict = false;                                     // no raw access to stored values
  Optimise optimise = Optimise::kNone;
  Symbols symbols = Symbols::kNames;
  bool acc_afp = false;  // what `acp` is, as the axis acc says: afp instead of float
  std::filesystem::path glsl;                              // the folder that holds dialect/
  std::vector<std::filesystem::path> include_folders;
  std::optional<std::filesystem::path> second;             // as BakeOptions::second
};

struct SourceOutcome {
  bool ok = false;
  std::vector<std::uint32_t> words;  // valid SPIR-V
  std::vector<Diagnostic> diagnostics;
};

SourceOutcome compile_source(const SourceRequest& request, SourceStore& sources);

}  // namespace spirkiln::gen
