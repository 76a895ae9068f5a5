// SPDX-License-Identifier: Apache-2.0
// The whole way from manifests to outputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "explain.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln::gen {

enum class EmbedForm { kIncbin, kArray, kNone };

struct BakeOptions {
  std::vector<std::filesystem::path> inputs;  // manifests, or folders of them
  std::string name;                           // [a-z][a-z0-9_]*
  std::filesystem::path out_dir;              // made where it is missing
  std::optional<std::filesystem::path> depfile;
  std::optional<std::filesystem::path> cache;  // nothing: no cache
  std::optional<std::filesystem::path> glsl;  // folder with dialect/ and kernels/; else searched
  std::vector<std::filesystem::path> include_folders;
  EmbedForm embed = EmbedForm::kIncbin;
  unsigned jobs = 0;  // 0: one a processor
  bool explain = false;  // say what was kept, pruned and merged, as kInfo messages
};

struct BakeStats {
  bool up_to_date = false;  // nothing had changed: nothing below was counted
  std::size_t manifests = 0;
  std::size_t kernels = 0;
  std::size_t variants = 0;
  std::size_t pruned = 0;
  std::size_t left_out = 0;  // for want of a compiler that knows an extension
  std::size_t texts = 0;  // distinct expanded texts
  std::size_t cache_hits = 0;  // of those
  std::size_t compiled = 0;  // of those
  std::size_t unique_blobs = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t unique_bytes = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t table_bytes = 0;
};

// Writes NAME_table.bin, .hpp and, by `embed`, .S or .cpp, and the depfile; all or, after an
// error, none. Unchanged files keep their times. Messages about sources go to `message`, once for
// all variants that share them; the Error then only counts them.
Result<BakeStats> bake(const BakeOptions& options, const MessageCallback& message);

// What becomes of every point of the manifests' products. Compiles, through the cache, and writes
// no outputs; `out_dir`, `depfile` and `embed` do not matter.
Result<std::vector<ExplainedKernel>> explain(const BakeOptions& options,
                                             const MessageCallback& message);

// The folder `glsl` that belongs to a manifest: the nearest one with dialect/dialect.glsl in it or
// in a folder above, else the installed one.
std::optional<std::filesystem::path> find_glsl_folder(const std::filesystem::path& manifest);

}  // namespace spirkiln::gen
