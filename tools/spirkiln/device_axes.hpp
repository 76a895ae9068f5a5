// SPDX-License-Identifier: Apache-2.0
// What a kernel asks about the device in its #if lines, and the values that make a difference.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "diagnostics.hpp"
#include "manifest.hpp"

namespace spirkiln::gen {

// A macro that a manifest may enumerate under [kernel.device]: all but those that a variant's name
// decides.
bool is_device_axis(std::string_view macro);

struct TestedMacro {
  std::string name;
  std::vector<std::string> conditions;  // each once: "== 4", ">= 16", "on or off"
  // One of each kind that the conditions tell apart, the smallest, ascending from 0.
  std::vector<std::int64_t> values;
  Diagnostic first;                   // where it is tested first; the text is empty
  std::optional<Diagnostic> unclear;  // a test whose outcome depends on more than this macro
};

using SourceFiles = std::vector<std::shared_ptr<const SourceFile>>;

// Sorted by name; macros that a text defines itself are no questions about the device.
std::vector<TestedMacro> tested_macros(const SourceFiles& files);

// A kernel and all that its #include lines name, whether or not an #if leaves them out. The dialect
// is not among them.
SourceFiles lexical_includes(const std::shared_ptr<const SourceFile>& kernel,
                             const std::vector<std::filesystem::path>& folders,
                             const std::filesystem::path& dialect, SourceStore& sources);

// An axis for each tested macro that has none yet. An Error where the values of one cannot be told.
Status add_device_axes(KernelManifest& kernel, const std::vector<TestedMacro>& tested);

}  // namespace spirkiln::gen
