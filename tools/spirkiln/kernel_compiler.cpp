// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "blob_codec.hpp"
#include "canonical_ids.hpp"
#include "half_repair.hpp"
#include "spirv_tools.hpp"
#include "work_scope.hpp"

namespace spirkiln::gen {
namespace {

std::size_t target_index(const CompileRequest& request) {
  const std::size_t asked =
      request.target == VulkanTarget::kAuto ? 0 : static_cast<std::size_t>(request.target) - 1;
  return std::max(asked, lowest_target(request.text));
}

// Null for an entry that this compiler cannot have written for `target`. The checksum tells a
// damaged disk; this, an entry whose writer was wrong.
std::shared_ptr<const Blob> decode(std::string_view entry, const Target& target) {
  ByteReader bytes(entry);
  auto blob = take_blob(bytes);
  const bool whole = blob != nullptr && bytes.at_end() && blob->vulkan_version == target.vulkan;
  return whole ? blob : nullptr;
}

Diagnostic stage_error(const CompileRequest& request, std::string_view stage,
                       const std::string& text) {
  return {Severity::kError, request.name, 0, 0, fmt::format("{}: {}", stage, text)};
}

}  // namespace

std::string tool_versions() {
  static const std::string versions = fmt::format("spirkiln {}, {}, {}", SPIRKILN_VERSION,
                                                  glslang_version(), spirv_tools_version());
  return versions;
}

std::string program_fingerprint() {
  static const std::string fingerprint = [] {
    const auto self = read_file("/proc/self/exe", std::uintmax_t{1} << 30);
    return fmt::format("{} {:016x}", tool_versions(), self.ok() ? hash_bytes(*self) : 0);
  }();
  return fingerprint;
}

std::string compile_key(const CompileRequest& request) {
  std::string bytes =
      fmt::format("{}\n{}\n{}\n{}\n", program_fingerprint(),
                  request.second != nullptr ? request.second->fingerprint() : std::string(),
                  static_cast<int>(request.optimise), target_index(request));
  if (!request.optimise_required) bytes += "optimise where possible\n";
  std::string_view text = request.text;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!row.empty() && (row.front() == ' ' || row.front() == '\t')) row.remove_prefix(1);
    while (!row.empty() && (row.back() == ' ' || row.back() == '\t')) row.remove_suffix(1);
    if (row.empty() || row.starts_with("#line ")) continue;
    bytes += row;
    bytes += '\n';
  }
  return cache_key(bytes);
}

CompileOutcome compile_kernel(const CompileRequest& request, const std::string& key,
                              const Cache& cache, SourceStore& sources) {
  CompileOutcome outcome;
  const Target& target = kTargets[target_index(request)];
  if (auto entry = cache.load(key)) {
    outcome.blob = decode(*entry, target);
    outcome.from_cache = outcome.blob != nullptr;
    if (outcome.from_cache) return outcome;
  }
  const WorkScope scope(request.name);
  const SecondCompiler* second = request.second;
  FrontResult front =
      compile_with_repair(request.text, request.name, target, sources, front_end(second));
  outcome.diagnostics = std::move(front.diagnostics);
  if (!front.ok) return outcome;

  const auto fail = [&](std::string_view stage, const std::string& text) {
    outcome.diagnostics.push_back(stage_error(request, stage, text));
    return outcome;
  };
  auto optimised = second != nullptr ? second->optimise(front.words, request.optimise, target)
                                     : optimise(front.words, request.optimise, target);
  auto blob = std::make_shared<Blob>();
  if (!optimised.ok()) {
    if (request.optimise_required) return fail("optimising failed", optimised.error().message);
    Diagnostic warning =
        stage_error(request, "not optimised, since that failed", optimised.error().message);
    warning.severity = Severity::kWarning;
    outcome.diagnostics.push_back(std::move(warning));
    blob->unoptimised = true;
    optimised = std::move(front.words);
  }
  const auto names = spec_names(*optimised);

  blob->vulkan_version = target.vulkan;
  if (second != nullptr) blob->compiler = second->version();
  auto stripped = second != nullptr ? second->strip(*optimised, target) : strip(*optimised, target);
  if (!stripped.ok()) return fail("stripping failed", stripped.error().message);
  auto canonical = canonical_ids(*stripped);
  blob->words = canonical ? *std::move(canonical) : std::move(stripped).value();
  const Status valid =
      second != nullptr ? second->validate(blob->words, target) : validate(blob->words, target);
  if (!valid.ok()) return fail("the module is not valid", valid.error().message);
  auto reflection = reflect(blob->words);
  if (!reflection.ok()) return fail("this kernel fits no table", reflection.error().message);
  blob->reflection = std::move(reflection).value();
  for (SpecConstant& spec : blob->reflection.specs) {
    if (const auto it = names.find(spec.id); it != names.end()) spec.name = it->second;
  }
  // One that was not optimised is made again, and so warned of again.
  if (!blob->unoptimised) {
    std::string entry;
    put_blob(entry, *blob);
    cache.store(key, entry);
  }
  outcome.blob = std::move(blob);
  return outcome;
}

}  // namespace spirkiln::gen
