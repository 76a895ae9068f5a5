// SPDX-License-Identifier: Apache-2.0
#include "include_resolver.hpp"

#include <fmt/format.h>

#include <utility>

#include "compose.hpp"
#include "expanded_text.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxIncludes = 4096;
constexpr std::size_t kMaxBytes = 16u << 20;

struct Held {
  std::shared_ptr<const SourceFile> file;
  std::string failure;
  std::string text;  // as the compiler gets it
};

}  // namespace

std::vector<fs::path> include_candidates(std::string_view name, const fs::path& folder,
                                         const std::vector<fs::path>& folders,
                                         const fs::path& dialect) {
  if (name == kDialectInclude) return {dialect};
  std::vector<fs::path> candidates = {folder / name};
  for (const fs::path& other : folders) candidates.push_back(other / name);
  // The one file that kernels of ncnn include; the dialect has its own.
  if (name == kActivationInclude) candidates.push_back(dialect.parent_path() / name);
  return candidates;
}

auto IncludeResolver::includeLocal(const char* name, const char* includer, std::size_t depth)
    -> IncludeResult* {
  IncludeResult* result = resolve(name, fs::path(from_line_name(includer)).parent_path(), depth);
  local_failure_ = result->headerName.empty() ? std::string(result->headerData) : std::string();
  return result;
}

auto IncludeResolver::includeSystem(const char* name, const char*, std::size_t depth)
    -> IncludeResult* {
  // glslang asks here as well after a failed includeLocal(), whose answer stands.
  if (!local_failure_.empty()) return fail(std::exchange(local_failure_, {}));
  return resolve(name, {}, depth);
}

void IncludeResolver::releaseInclude(IncludeResult* result) {
  if (result == nullptr) return;
  delete static_cast<Held*>(result->userData);
  delete result;
}

auto IncludeResolver::resolve(std::string_view name, const fs::path& folder, std::size_t depth)
    -> IncludeResult* {
  if (failed_) {
    // One error is enough: whatever is still included is empty, so a cycle ends at once.
    static const std::string kEmpty;
    return new IncludeResult(std::string(name), kEmpty.data(), 0, nullptr);
  }
  if (depth > kMaxDepth) {
    return fail(fmt::format("includes are nested deeper than {}; is there a cycle?", kMaxDepth));
  }
  if (++count_ > kMaxIncludes) {
    return fail(fmt::format("more than {} includes in one kernel", kMaxIncludes));
  }
  const auto candidates = include_candidates(name, folder, folders_, dialect_);
  for (const fs::path& path : candidates) {
    auto file = sources_.find(path);
    if (!file.ok()) return fail(file.error().message);
    if (*file == nullptr) continue;
    bytes_ += (*file)->text.size();
    if (bytes_ > kMaxBytes) {
      return fail(fmt::format("includes of one kernel hold more than {} bytes", kMaxBytes));
    }
    if (path.parent_path() != dialect_.parent_path()) included_.push_back(*file);
    auto* held = new Held{*file, {}, without_line_directives((*file)->text)};
    return new IncludeResult(line_name(held->file->path.string()), held->text.data(),
                             held->text.size(), held);
  }
  std::string looked;
  for (const fs::path& path : candidates) {
    looked += looked.empty() ? "" : ", ";
    looked += "'" + shown(path.lexically_normal()) + "'";
  }
  return fail("no such file; looked for " + looked);
}

auto IncludeResolver::fail(std::string text) -> IncludeResult* {
  failed_ = true;
  auto* held = new Held{nullptr, std::move(text), {}};
  return new IncludeResult("", held->failure.data(), held->failure.size(), held);
}

}  // namespace spirkiln::gen
