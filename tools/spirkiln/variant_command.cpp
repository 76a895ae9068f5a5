// SPDX-License-Identifier: Apache-2.0
#include "variant_command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "forms.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPolicies[] = {"performance", "size", "none"};
constexpr std::string_view kTargets[] = {"", "vulkan1.0", "vulkan1.1", "vulkan1.2", "vulkan1.3"};

// As one word of a POSIX shell.
std::string shell_word(std::string_view word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./=,:+@%").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A name that begins as an option or a file of arguments does is neither.
std::string file_word(const fs::path& path) {
  const std::string name = path.string();
  const bool special = name.starts_with('-') || name.starts_with('@');
  return shell_word(special ? "./" + name : name);
}

}  // namespace

std::string variant_command(const BakeKernel& kernel, const Variant& variant,
                            const SourceOptions& options, const Blob* blob) {
  const KernelManifest& manifest = *kernel.manifest;
  // 'spirv' would fail where the optimiser does.
  const bool unoptimised = blob != nullptr && blob->unoptimised;
  const Optimise policy = unoptimised ? Optimise::kNone : manifest.optimise;
  const bool second = blob != nullptr && !blob->compiler.empty();
  std::string out = fmt::format("spirkiln spirv {} --variant {} --profile {} --optimise {}",
                                file_word(kernel.source->path), variant.form, manifest.profile,
                                kPolicies[static_cast<std::size_t>(policy)]);
  if (manifest.target != VulkanTarget::kAuto) {
    out += fmt::format(" --target-env {}", kTargets[static_cast<std::size_t>(manifest.target)]);
  }
  if (manifest.strict) out += " --strict";
  const auto form = find_form(manifest.profile, variant.form);
  const std::size_t own = form ? form->macros.size() : 0;
  for (std::size_t i = own; i < variant.macros.size(); ++i) {
    const auto& [name, value] = variant.macros[i];
    out +=
        name == kAccMacro ? " --acc afp" : " -D " + shell_word(fmt::format("{}={}", name, value));
  }
  // The last one is the folder with the dialect.
  const auto& folders = kernel.include_folders;
  for (std::size_t i = 0; i + 1 < folders.size(); ++i) out += " -I " + file_word(folders[i]);
  out += " --glsl " + file_word(folders.back());
  if (second && options.second) out += " --glslc " + file_word(*options.second);
  if (options.debug) out += " --debug";
  return out + fmt::format(" -o {}.spv\n", variant.name);
}

}  // namespace spirkiln::gen
