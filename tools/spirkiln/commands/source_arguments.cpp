// SPDX-License-Identifier: Apache-2.0
#include "source_arguments.hpp"

#include "cache.hpp"
#include "second_compiler.hpp"

namespace spirkiln::gen {
namespace {

// Empty: as manifests say.
VulkanTarget target_of(std::string_view text) {
  return text == "vulkan1.0"   ? VulkanTarget::k10
         : text == "vulkan1.1" ? VulkanTarget::k11
         : text == "vulkan1.2" ? VulkanTarget::k12
         : text == "vulkan1.3" ? VulkanTarget::k13
                               : VulkanTarget::kAuto;
}

}  // namespace

std::optional<std::filesystem::path> cache_folder(const CacheArguments& arguments) {
  if (!arguments.folder.empty()) return arguments.folder;
  return arguments.none ? std::nullopt : default_cache_folder();
}

EmbedForm embed_form(std::string_view text) {
  return text == "array"  ? EmbedForm::kArray
         : text == "none" ? EmbedForm::kNone
                          : EmbedForm::kIncbin;
}

void fill(SourceOptions& options, const SourceArguments& arguments) {
  options.cache = cache_folder(arguments.cache);
  if (!arguments.glsl.empty()) options.glsl = arguments.glsl;
  options.second = second_folder(arguments.glslc);
  options.target = target_of(arguments.target);
  options.answers.assign(arguments.answers.begin(), arguments.answers.end());
  options.include_folders.assign(arguments.folders.begin(), arguments.folders.end());
}

}  // namespace spirkiln::gen
