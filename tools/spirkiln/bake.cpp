// SPDX-License-Identifier: Apache-2.0
#include "bake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "bake_compile.hpp"
#include "bake_load.hpp"
#include "depfile.hpp"
#include "emit.hpp"
#include "kernel_compiler.hpp"
#include "output_set.hpp"
#include "pack.hpp"
#include "parallel.hpp"
#include "stamp.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kMaxCacheBytes = std::uintmax_t{512} << 20;

bool is_table_name(std::string_view s) {
  return !s.empty() && s.size() <= 64 && s[0] >= 'a' && s[0] <= 'z' &&
         std::all_of(s.begin(), s.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

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
  for (const fs::path& folder : options.include_folders) all += folder.string() + "\n";
  for (const fs::path& input : options.inputs) all += input.string() + "\n";
  all += input_listing(options.inputs);
  return cache_key(all);
}

fs::path output_path(const BakeOptions& options, std::string_view extension) {
  return options.out_dir / fmt::format("{}_table.{}", options.name, extension);
}

fs::path stamp_path(const BakeOptions& options) {
  return options.out_dir / fmt::format(".{}_table.stamp", options.name);
}

std::string_view embed_extension(EmbedForm embed) {
  return embed == EmbedForm::kIncbin ? "S" : embed == EmbedForm::kArray ? "cpp" : "";
}

// Before anything is compiled; the temporaries decide in the end.
Status check_outputs(const BakeOptions& options) {
  std::vector<fs::path> paths = {output_path(options, "bin"), output_path(options, "hpp"),
                                 stamp_path(options)};
  if (options.embed != EmbedForm::kNone) {
    paths.push_back(output_path(options, embed_extension(options.embed)));
  }
  for (const fs::path& path : paths) {
    if (Status status = check_output(path, true); !status.ok()) return status;
  }
  if (!options.depfile) return Ok{};
  const bool beside = options.depfile->parent_path().lexically_normal() ==
                      (options.out_dir / "").lexically_normal().parent_path();
  return check_output(*options.depfile, beside);
}

Result<std::string> depfile_text(const BakeOptions& options, const std::vector<Output>& outputs,
                                 const std::vector<SourceStore::Opened>& opened) {
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
  return emit_depfile(targets, inputs);
}

Status write_all(const BakeOptions& options, const std::vector<PackKernel>& kernels,
                 const std::string& table, const std::vector<SourceStore::Opened>& opened,
                 const std::string& settings) {
  std::vector<Output> outputs;
  outputs.push_back({output_path(options, "bin"), table});
  outputs.push_back({output_path(options, "hpp"), emit_header(options.name, kernels)});
  if (options.embed != EmbedForm::kNone) {
    outputs.push_back({output_path(options, embed_extension(options.embed)),
                       options.embed == EmbedForm::kIncbin ? emit_assembly(options.name, table)
                                                           : emit_array(options.name, table)});
  }
  if (options.depfile) {
    auto text = depfile_text(options, outputs, opened);
    if (!text.ok()) return text.error();
    outputs.push_back({*options.depfile, std::move(text).value()});
  }
  // Last: it must not vouch for outputs that are not there yet.
  StampContent stamp{settings, opened, {}};
  for (const Output& output : outputs) {
    stamp.outputs.emplace_back(output.path, hash_bytes(output.bytes));
  }
  outputs.push_back({stamp_path(options), encode_stamp(stamp)});

  std::error_code code;
  const bool made = fs::create_directories(options.out_dir, code);
  if (code) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot make the folder '{}': {}; name another one with --out-dir",
                             options.out_dir.string(), code.message())};
  }
  Status status = [&] {
    const FolderLock lock(options.out_dir);
    remove_leftovers(outputs);
    return write_outputs(outputs);
  }();
  if (!status.ok() && made) fs::remove(options.out_dir, code);
  return status;
}

// All that comes before the outputs.
struct Batch {
  std::vector<Manifest> manifests;
  std::vector<BakeKernel> kernels;
  std::vector<BakeJob> jobs;
  std::vector<PackKernel> packing;  // without what was left out
  PackedTable table;
  BakeStats stats;
};

std::vector<PackKernel> packing_of(const Batch& batch) {
  std::vector<PackKernel> packing;
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    const BakeJob& job = batch.jobs[i];
    const BakeKernel& kernel = batch.kernels[job.kernel];
    if (job.blob == nullptr) continue;
    if (packing.empty() || packing.back().name != kernel.manifest->name) {
      PackKernel& next = packing.emplace_back();
      next.name = kernel.manifest->name;
      next.source_hash = static_cast<std::uint32_t>(kernel.source->hash);
    }
    packing.back().variants.push_back(kernel.expansion.variants[job.variant]);
    packing.back().blobs.push_back(job.blob);
  }
  return packing;
}

Result<Batch> make_batch(const BakeOptions& options, const Cache& cache, SourceStore& sources,
                         const MessageCallback& message) {
  Batch batch;
  const unsigned threads = options.jobs != 0 ? options.jobs : processor_count();
  auto manifests = load_manifests(options.inputs, sources);
  if (!manifests.ok()) return manifests.error();
  batch.manifests = std::move(manifests).value();
  auto kernels = load_kernels(options, batch.manifests, sources);
  if (!kernels.ok()) return kernels.error();
  batch.kernels = std::move(kernels).value();
  BakeStats& stats = batch.stats;
  batch.jobs = compile_all(batch.kernels, threads, cache, sources, stats);
  if (const std::size_t failed = report(batch.kernels, batch.jobs, message); failed != 0) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{} of {} kernels failed; nothing was written", failed, batch.kernels.size())};
  }
  batch.packing = packing_of(batch);
  if (batch.packing.empty()) {
    return Error{ErrorCode::kUnsupported,
                 "every variant was left out for want of a compiler; nothing was written"};
  }
  auto table = pack_table(options.name, tool_versions(), batch.packing, threads, cache);
  if (!table.ok()) return table.error();
  batch.table = std::move(table).value();
  stats.manifests = batch.manifests.size();
  stats.kernels = batch.kernels.size();
  stats.variants = batch.jobs.size() - stats.left_out;
  for (const BakeKernel& kernel : batch.kernels) stats.pruned += kernel.expansion.pruned.size();
  stats.unique_blobs = batch.table.stats.unique_blobs;
  stats.raw_bytes = batch.table.stats.raw_bytes;
  stats.unique_bytes = batch.table.stats.unique_bytes;
  stats.packed_bytes = batch.table.stats.packed_bytes;
  stats.table_bytes = batch.table.bytes.size();
  return batch;
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
  const BakeKernel& own = batch.kernels[kernel];
  std::size_t packed = 0;  // of this kernel's variants
  const auto pack = std::find_if(batch.packing.begin(), batch.packing.end(),
                                 [&](const PackKernel& p) { return p.name == own.manifest->name; });
  for (const BakeJob& job : batch.jobs) {
    if (job.kernel != kernel) continue;
    Point& point = points.emplace_back();
    point.variant = own.expansion.variants[job.variant].name;
    if (job.blob == nullptr) {
      point.fate = Fate::kLeftOut;
      point.detail = job.left_out;
      continue;
    }
    const auto index = static_cast<std::size_t>(pack - batch.packing.begin());
    point.detail = batch.table.merged_into[index][packed++];
    point.fate = point.detail.empty() ? Fate::kKept : Fate::kMerged;
  }
  for (const Pruned& pruned : own.expansion.pruned) {
    points.push_back({pruned.variant, Fate::kPruned, pruned.rule});
  }
  if (has_forbidden_form(*own.manifest)) {
    points.push_back(
        {own.manifest->name + "_fp32a", Fate::kPruned, "fp16-arithmetic-requires-16-bit-storage"});
  }
  return points;
}

}  // namespace

Result<BakeStats> bake(const BakeOptions& options, const MessageCallback& message) {
  if (!is_table_name(options.name)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the table name '{}' must be a lower-case letter, then up to 63 of "
                             "a-z, 0-9 and _",
                             options.name)};
  }
  const std::string settings = settings_line(options);
  if (!options.explain && stamp_holds(stamp_path(options), settings)) {
    BakeStats stats;
    stats.up_to_date = true;
    return stats;
  }
  if (const Status status = check_outputs(options); !status.ok()) return status.error();
  SourceStore sources;
  const Cache cache(options.cache);
  auto batch = make_batch(options, cache, sources, message);
  if (!batch.ok()) return batch.error();
  if (options.explain && message) {
    for (std::size_t k = 0; k < batch->kernels.size(); ++k) {
      for (const Point& point : points_of(*batch, k)) message(Severity::kInfo, point_text(point));
    }
  }
  const Status written =
      write_all(options, batch->packing, batch->table.bytes, sources.opened(), settings);
  if (!written.ok()) return written.error();
  if (batch->stats.compiled > 0) cache.trim(kMaxCacheBytes);
  return batch->stats;
}

Result<std::vector<ExplainedKernel>> explain(const BakeOptions& options,
                                             const MessageCallback& message) {
  SourceStore sources;
  auto batch = make_batch(options, Cache(options.cache), sources, message);
  if (!batch.ok()) return batch.error();
  std::vector<ExplainedKernel> all;
  for (std::size_t k = 0; k < batch->kernels.size(); ++k) {
    const BakeKernel& kernel = batch->kernels[k];
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
