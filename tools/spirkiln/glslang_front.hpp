// SPDX-License-Identifier: Apache-2.0
// Stages 4 and 6: glslang, in process. Safe from several threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "diagnostics.hpp"

namespace spirkiln::gen {

// Versions as in VulkanTarget; a target fixes Vulkan's and SPIR-V's version.
struct Target {
  std::uint32_t vulkan;  // VK_API_VERSION_1_x
  std::uint32_t spirv;   // second word of a module
};
inline constexpr Target kTargets[] = {{0x00400000, 0x00010000},
                                      {0x00401000, 0x00010300},
                                      {0x00402000, 0x00010500},
                                      {0x00403000, 0x00010600}};

struct PreprocessInput {
  const std::string& text;  // from compose()
  const std::string& name;  // the kernel's path
  const std::filesystem::path& dialect;
  const std::vector<std::filesystem::path>& include_folders;
};

struct FrontResult {
  bool ok = false;
  std::vector<Diagnostic> diagnostics;
  std::string text;                  // preprocess(): the expanded text, with #line directives
  std::vector<std::shared_ptr<const SourceFile>> included;  // preprocess(): but for the dialect
  std::vector<std::uint32_t> words;  // compile(): the module, with names
};

FrontResult preprocess(const PreprocessInput& input, SourceStore& sources);

// `text` from preprocess(). With `debug` the module has lines, and the names of files as #line has
// them.
FrontResult compile(const std::string& text, const std::string& name, const Target& target,
                    SourceStore& sources, bool debug = false);

using CompileFunction = std::function<FrontResult(const std::string& text, const std::string& name,
                                                  const Target& target, SourceStore& sources)>;

// Whether this glslang knows the extension.
bool knows_extension(const std::string& name);

// The lowest target for the extensions that the expanded text asks for: an index of kTargets.
std::size_t lowest_target(std::string_view preprocessed);

// "glslang 12.0.0".
std::string glslang_version();

}  // namespace spirkiln::gen
