// SPDX-License-Identifier: Apache-2.0
#include "link_objects.hpp"

#include <fmt/format.h>

#include <map>

#include "compile_phase.hpp"
#include "files.hpp"
#include "kernel_object.hpp"
#include "link_phase.hpp"
#include "parallel.hpp"
#include "quirks.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
using namespace tool;
namespace {

constexpr std::uintmax_t kMaxObjectBytes = std::uintmax_t{1} << 30;
// Where a build went wrong they are all missing.
constexpr std::size_t kMaxMissingNamed = 3;

Result<std::vector<PackKernel>> load_object(const fs::path& path) {
  auto bytes = read_file(path, kMaxObjectBytes);
  if (!bytes.ok()) return bytes.error();
  return decode_object(*bytes, path.string());
}

// Of all objects; what is wrong with them is said together.
Result<std::vector<PackKernel>> load_objects(const std::vector<fs::path>& paths, unsigned threads) {
  std::vector<std::vector<PackKernel>> loaded(paths.size());
  std::vector<Error> failures(paths.size());
  parallel_for(paths.size(), threads, [&](std::size_t i) {
    auto kernels = load_object(paths[i]);
    if (kernels.ok()) {
      loaded[i] = std::move(kernels).value();
    } else {
      failures[i] = kernels.error();
    }
  });
  Error all{ErrorCode::kCorrupt, {}};
  const auto add = [&](const Error& error) {
    if (error.message.empty()) return;
    all.code = error.code;
    all.message += (all.message.empty() ? "" : "\n") + error.message;
  };
  std::size_t missing = 0;
  for (const Error& failure : failures) {
    const bool unread = failure.code == ErrorCode::kIo && !failure.message.empty();
    if (!unread || ++missing <= kMaxMissingNamed) add(failure);
  }
  if (missing > kMaxMissingNamed) {
    add({ErrorCode::kIo, fmt::format("{} more objects cannot be read; were they compiled?",
                                     missing - kMaxMissingNamed)});
  }
  std::vector<PackKernel> kernels;
  std::map<std::string, std::size_t> owners;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (PackKernel& kernel : loaded[i]) {
      const auto [it, is_new] = owners.try_emplace(kernel.name, i);
      if (!is_new) {
        add({ErrorCode::kInvalidArgument,
             fmt::format("the kernel '{}' is in '{}' and in '{}'; link it once", kernel.name,
                         paths[it->second].string(), paths[i].string())});
        continue;
      }
      kernels.push_back(std::move(kernel));
    }
  }
  if (!all.message.empty()) return all;
  return kernels;
}

}  // namespace

Result<BakeStats> link_objects(const LinkOptions& options) {
  if (Status status = check_table_name(options.name); !status.ok()) return status.error();
  for (const fs::path& path : table_paths(options)) {
    if (Status status = check_output(path, true); !status.ok()) return status.error();
  }
  std::vector<fs::path> inputs = options.objects;
  if (options.quirks) inputs.push_back(*options.quirks);
  if (Status status = refuse_inputs(table_paths(options), inputs); !status.ok()) {
    return status.error();
  }
  const unsigned threads = thread_count(options.jobs);
  auto kernels = load_objects(options.objects, threads);
  if (!kernels.ok()) return kernels.error();
  SourceStore sources;
  const auto attachments = quirks_attachment(options.quirks, sources, *kernels, true);
  if (!attachments.ok()) return attachments.error();
  auto linked = link_kernels(options.name, std::move(kernels).value(), threads,
                             Cache(options.cache), *attachments);
  if (!linked.ok()) return linked.error();
  const auto outputs = table_outputs(options, linked->kernels, linked->table.bytes);
  if (Status status = write_into(options.out_dir, outputs); !status.ok()) return status.error();
  BakeStats stats;
  stats.kernels = linked->kernels.size();
  for (const PackKernel& kernel : linked->kernels) stats.variants += kernel.variants.size();
  count(linked->table, stats);
  return stats;
}

}  // namespace spirkiln::gen
