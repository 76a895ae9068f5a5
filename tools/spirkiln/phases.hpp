// SPDX-License-Identifier: Apache-2.0
// A bake has two phases, as compilers have: kernels are compiled, then linked into a table. Both
// may run in one process (bake.hpp) or with files between them (compile_object.hpp,
// link_objects.hpp); the table is the same. What they share is here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "manifest.hpp"

namespace spirkiln::gen {

struct SourceOptions {
  std::vector<std::filesystem::path> inputs;   // manifests, or folders of them
  std::string kernel;                          // this one alone; empty: all
  std::string variant;                         // this one alone; empty: all
  std::optional<std::filesystem::path> cache;  // nothing: no cache
  std::optional<std::filesystem::path> glsl;  // folder with dialect/ and kernels/; else searched
  std::vector<std::filesystem::path> include_folders;
  std::vector<std::filesystem::path> answers;  // files of further known answers
  // Manifests that are compiled by themselves: `answers` may be of their kernels, too.
  std::vector<std::filesystem::path> beside;
  // Folder of a second compiler (second_compiler.hpp) for variants that need an extension which the
  // one that is linked in does not know; nothing: they are left out.
  std::optional<std::filesystem::path> second;
  VulkanTarget target = VulkanTarget::kAuto;  // at least this, whatever manifests say
  // Called with how many of how many texts are compiled, from one thread at a time.
  std::function<void(std::size_t, std::size_t)> progress;
  bool debug = false;  // modules keep names, lines and the names of files, as they were given
  unsigned jobs = 0;  // 0: one a processor
};

// Of what was not done, the numbers are 0.
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
  std::size_t unoptimised = 0;  // variants that the optimiser failed at, and that may stay so
  std::size_t by_second = 0;  // variants that the second compiler made, now or for the cache
  std::string second_version;  // of it, where it made any
  std::size_t unique_blobs = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t unique_bytes = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t object_bytes = 0;
};

}  // namespace spirkiln::gen
