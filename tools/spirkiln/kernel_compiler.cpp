// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "blob_codec.hpp"
#include "finish_module.hpp"
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
      fmt::format("{}\n{}\n{}\n{}\n{}\n", program_fingerprint(),
                  request.second != nullptr ? request.second->fingerprint() : std::string(),
                  static_cast<int>(request.optimise), target_index(request), request.debug);
  if (!request.optimise_required) bytes += "optimise where possible\n";
  if (request.debug) return cache_key(bytes + request.text);
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
  FrontResult front = compile_with_repair(request.text, request.name, target, sources,
                                          front_end(second, request.debug));
  outcome.diagnostics = std::move(front.diagnostics);
  if (!front.ok) return outcome;

  const auto fail = [&](std::string text) {
    outcome.diagnostics.push_back({Severity::kError, request.name, 0, 0, std::move(text)});
    return outcome;
  };
  const FinishOptions options{request.optimise, request.optimise_required, request.debug};
  auto finished = finish_module(front.words, options, target, second);
  if (!finished.ok()) return fail(finished.error().message);
  auto blob = std::make_shared<Blob>();
  if (!finished->not_optimised.empty()) {
    outcome.diagnostics.push_back({Severity::kWarning, request.name, 0, 0,
                                   "not optimised, since that failed: " + finished->not_optimised});
    blob->unoptimised = true;
  }
  blob->vulkan_version = target.vulkan;
  if (second != nullptr) blob->compiler = second->version();
  blob->words = std::move(finished->words);
  auto reflection = reflect(blob->words);
  if (!reflection.ok()) return fail("this kernel fits no table: " + reflection.error().message);
  blob->reflection = std::move(reflection).value();
  for (SpecConstant& spec : blob->reflection.specs) {
    const auto it = finished->constant_names.find(spec.id);
    if (it != finished->constant_names.end()) spec.name = it->second;
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
