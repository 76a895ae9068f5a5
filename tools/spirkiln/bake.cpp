// SPDX-License-Identifier: Apache-2.0
#include "bake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "budgets.hpp"
#include "compile_phase.hpp"
#include "depfile.hpp"
#include "kernel_compiler.hpp"
#include "link_phase.hpp"
#include "output_set.hpp"
#include "quirks.hpp"
#include "second_compiler.hpp"
#include "stamp.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
using namespace tool;
namespace {

// The manifests that the inputs name right now; a new file in a folder changes it.
std::string input_listing(const std::vector<fs::path>& inputs) {
  std::set<std::string> names;
  for (const fs::path& input : inputs) {
    names.insert(input.string());
    std::error_code code;
    for (fs::directory_iterator it(input, code), end; !code && it != end; it.increment(code)) {
      if (it->path().extension() == ".toml") names.insert(it->path().string());
    }
  }
  return fmt::format("{}", fmt::join(names, "\x1f"));
}

// Which program this is, without reading all of it: a stamp never leaves its machine.
std::string program_state() {
  std::error_code code;
  const fs::path self = fs::read_symlink("/proc/self/exe", code);
  const auto time = fs::last_write_time(self, code).time_since_epoch().count();
  return fmt::format("{} {} {} {}", tool_versions(), self.string(), fs::file_size(self, code),
                     time);
}

std::string settings_line(const BakeOptions& options) {
  std::string all = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", program_state(), options.name,
                                options.out_dir.string(), static_cast<int>(options.embed),
                                options.depfile ? options.depfile->string() : "",
                                options.glsl ? options.glsl->string() : "");
  all += options.kernel + (options.debug ? "\ndebug\n" : "\n");
  all += fmt::format("{}\n", static_cast<int>(options.target));
  all += fmt::format("{}\n", options.quirks ? options.quirks->string() : "");
  if (options.second) all += second_folder_state(*options.second);
  for (const fs::path& folder : options.include_folders) all += folder.string() + "\n";
  for (const fs::path& file : options.answers) all += "answers " + file.string() + "\n";
  for (const fs::path& input : options.inputs) all += input.string() + "\n";
  all += input_listing(options.inputs);
  return cache_key(all);
}

fs::path stamp_path(const BakeOptions& options) {
  return options.out_dir / fmt::format(".{}_table.stamp", options.name);
}

// Before anything is compiled; the temporaries decide in the end.
Status check_outputs(const BakeOptions& options) {
  std::vector<fs::path> paths = table_paths(options);
  paths.push_back(stamp_path(options));
  for (const fs::path& path : paths) {
    if (Status status = check_output(path, true); !status.ok()) return status;
  }
  if (options.depfile) paths.push_back(*options.depfile);
  // The manifests at once; what they include is known at the end.
  std::vector<fs::path> inputs = options.inputs;
  if (options.quirks) inputs.push_back(*options.quirks);
  if (Status status = refuse_inputs(paths, inputs); !status.ok()) return status;
  if (!options.depfile) return Ok{};
  const bool beside = options.depfile->parent_path().lexically_normal() ==
                      (options.out_dir / "").lexically_normal().parent_path();
  return check_output(*options.depfile, beside);
}

Result<std::string> depfile_text(const BakeOptions& options, const std::vector<Output>& outputs,
                                 const std::vector<SourceStore::Opened>& opened, bool second_used) {
  std::vector<fs::path> targets;
  for (const Output& output : outputs) targets.push_back(output.path);
  std::vector<fs::path> inputs;
  std::error_code code;
  // A folder's own time changes when a manifest appears in it or goes.
  for (const fs::path& input : options.inputs) {
    if (fs::is_directory(input, code)) inputs.push_back(input.lexically_normal());
  }
  for (const auto& file : opened) {
    if (file.exists) inputs.push_back(file.path);
  }
  if (second_used) {
    for (fs::path& file : second_folder_files(*options.second)) inputs.push_back(std::move(file));
  }
  return emit_depfile(targets, inputs);
}

Status write_all(const BakeOptions& options, const LinkedTable& linked, bool second_used,
                 const std::vector<SourceStore::Opened>& opened, const std::string& settings) {
  std::vector<Output> outputs = table_outputs(options, linked.kernels, linked.table.bytes);
  if (options.depfile) {
    auto text = depfile_text(options, outputs, opened, second_used);
    if (!text.ok()) return text.error();
    outputs.push_back({*options.depfile, std::move(text).value()});
  }
  // Last: it must not vouch for outputs that are not there yet.
  StampContent stamp{settings, opened, {}};
  for (const Output& output : outputs) {
    stamp.outputs.emplace_back(output.path, hash_bytes(output.bytes));
  }
  outputs.push_back({stamp_path(options), encode_stamp(stamp)});
  std::vector<fs::path> written;
  for (const Output& output : outputs) written.push_back(output.path);
  std::vector<fs::path> read;
  for (const auto& file : opened) {
    if (file.exists) read.push_back(file.path);
  }
  if (Status status = refuse_inputs(written, read); !status.ok()) return status;

  return write_into(options.out_dir, outputs);
}

// All that comes before the outputs.
struct Batch {
  CompiledKernels compiled;
  LinkedTable linked;
};

Result<Batch> make_batch(const SourceOptions& options, const std::string& name,
                         const std::optional<fs::path>& quirks, const Cache& cache,
                         SourceStore& sources, const MessageCallback& message) {
  auto compiled = compile_kernels(options, cache, sources, message);
  if (!compiled.ok()) return compiled.error();
  const bool all = options.kernel.empty() && options.variant.empty();
  const auto attachments = quirks_attachment(quirks, sources, compiled->packing, all);
  if (!attachments.ok()) return attachments.error();
  auto linked =
      link_kernels(name, compiled->packing, thread_count(options.jobs), cache, *attachments);
  if (!linked.ok()) return linked.error();
  count(linked->table, compiled->stats);
  return Batch{std::move(compiled).value(), std::move(linked).value()};
}

Status check_budgets(const Batch& batch) {
  const auto table = table_of(batch.linked.table);
  if (!table.ok()) return table.error();
  std::string over = over_budget(*table, batch.compiled.manifests);
  if (over.empty()) return Ok{};
  return Error{ErrorCode::kUnsupported,
               over + "\nspirkiln: error: over budget; nothing was written"};
}

// Storage and arithmetic are two axes; one of their points never becomes a variant.
bool has_forbidden_form(const KernelManifest& kernel) {
  const auto& names = kernel.variants;
  return std::find(names.begin(), names.end(), "fp32") != names.end() &&
         std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.ends_with('a'); });
}

std::vector<Point> points_of(const Batch& batch, std::size_t kernel) {
  std::vector<Point> points;
  const BakeKernel& own = batch.compiled.kernels[kernel];
  std::size_t linked = 0;  // of this kernel's variants
  const auto& kernels = batch.linked.kernels;
  const auto index = static_cast<std::size_t>(
      std::find_if(kernels.begin(), kernels.end(),
                   [&](const PackKernel& p) { return p.name == own.manifest->name; }) -
      kernels.begin());
  for (const BakeJob& job : batch.compiled.jobs) {
    if (job.kernel != kernel) continue;
    Point& point = points.emplace_back();
    point.variant = own.expansion.variants[job.variant].name;
    if (job.blob == nullptr) {
      point.fate = Fate::kLeftOut;
      point.detail = job.left_out;
      continue;
    }
    point.detail = batch.linked.table.merged_into[index][linked++];
    point.fate = point.detail.empty() ? Fate::kKept : Fate::kMerged;
    point.compiler = job.blob->compiler;
  }
  for (const Pruned& pruned : own.expansion.pruned) {
    points.push_back({pruned.variant, Fate::kPruned, pruned.rule, {}});
  }
  if (has_forbidden_form(*own.manifest)) {
    points.push_back({own.manifest->name + "_fp32a",
                      Fate::kPruned,
                      "fp16-arithmetic-requires-16-bit-storage",
                      {}});
  }
  return points;
}

}  // namespace

Result<BakeStats> bake(const BakeOptions& options, const MessageCallback& message) {
  if (Status status = check_table_name(options.name); !status.ok()) return status.error();
  const std::string settings = settings_line(options);
  if (!options.explain && stamp_holds(stamp_path(options), settings)) {
    BakeStats stats;
    stats.up_to_date = true;
    return stats;
  }
  if (const Status status = check_outputs(options); !status.ok()) return status.error();
  SourceStore sources;
  const Cache cache(options.cache);
  auto batch = make_batch(options, options.name, options.quirks, cache, sources, message);
  if (!batch.ok()) return batch.error();
  if (options.explain && message) {
    for (std::size_t k = 0; k < batch->compiled.kernels.size(); ++k) {
      for (const Point& point : points_of(*batch, k)) message(Severity::kInfo, point_text(point));
    }
  }
  if (const Status status = check_budgets(*batch); !status.ok()) return status.error();
  const Status written = write_all(options, batch->linked, batch->compiled.stats.by_second != 0,
                                   sources.opened(), settings);
  if (!written.ok()) return written.error();
  if (batch->compiled.stats.compiled > 0) cache.trim(kMaxCacheBytes);
  return batch->compiled.stats;
}

Result<std::vector<ExplainedKernel>> explain(const SourceOptions& options,
                                             const MessageCallback& message) {
  SourceStore sources;
  auto batch = make_batch(options, {}, {}, Cache(options.cache), sources, message);
  if (!batch.ok()) return batch.error();
  std::vector<ExplainedKernel> all;
  for (std::size_t k = 0; k < batch->compiled.kernels.size(); ++k) {
    const BakeKernel& kernel = batch->compiled.kernels[k];
    ExplainedKernel& explained = all.emplace_back();
    explained.name = kernel.manifest->name;
    explained.source = kernel.source->path.string();
    explained.axes = kernel.manifest->axes;
    explained.tested = tested_macros(
        lexical_includes(kernel.source, kernel.include_folders, kernel.dialect, sources));
    explained.points = points_of(*batch, k);
  }
  return all;
}

}  // namespace spirkiln::gen
