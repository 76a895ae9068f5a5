// SPDX-License-Identifier: Apache-2.0
#include "bake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include "compose.hpp"
#include "depfile.hpp"
#include "device_axes.hpp"
#include "device_macros.hpp"
#include "emit.hpp"
#include "expand.hpp"
#include "kernel_compiler.hpp"
#include "output_set.hpp"
#include "pack.hpp"
#include "parallel.hpp"
#include "raw_access.hpp"
#include "stamp.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kMaxCacheBytes = std::uintmax_t{512} << 20;

struct Kernel {
  const KernelManifest* manifest = nullptr;
  std::size_t family = 0;
  std::shared_ptr<const SourceFile> source;
  fs::path glsl;
  fs::path dialect;
  std::vector<fs::path> include_folders;
  Expansion expansion;
};

struct Job {
  std::size_t kernel = 0;
  std::size_t variant = 0;
  std::string text;  // expanded
  std::string key;
  std::vector<Diagnostic> diagnostics;
  bool ok = false;
  std::shared_ptr<const Blob> blob;
};

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

// A source beside its manifest, else among the project's kernels.
Result<std::shared_ptr<const SourceFile>> load_kernel_source(const Manifest& manifest,
                                                             const KernelManifest& kernel,
                                                             const fs::path& glsl,
                                                             SourceStore& sources) {
  const fs::path beside = manifest.path.parent_path() / kernel.source;
  const fs::path shared = glsl / "kernels" / kernel.source;
  for (const fs::path& path : {beside, shared}) {
    auto file = sources.find(path);
    if (!file.ok() || *file) return file;
  }
  Diagnostic d = kernel.position;
  d.text = fmt::format("no source of '{}'; looked for '{}' and '{}'", kernel.name,
                       beside.lexically_normal().string(), shared.lexically_normal().string());
  return Error{ErrorCode::kIo, to_string(d)};
}

Result<std::vector<Kernel>> load_kernels(const BakeOptions& options,
                                         std::vector<Manifest>& manifests, SourceStore& sources) {
  std::vector<Kernel> kernels;
  std::string errors;
  const auto add_error = [&](const std::string& text) {
    errors += errors.empty() ? "" : "\n";
    errors += text;
  };
  for (std::size_t m = 0; m < manifests.size(); ++m) {
    const auto glsl = options.glsl ? options.glsl : find_glsl_folder(manifests[m].path);
    if (!glsl) {
      add_error(
          fmt::format("no folder 'glsl' with dialect/dialect.glsl above '{}'; name one with "
                      "--glsl",
                      manifests[m].path.string()));
      continue;
    }
    const fs::path dialect = *glsl / "dialect" / "dialect.glsl";
    if (auto file = sources.load(dialect); !file.ok()) {
      add_error(file.error().message);
      continue;
    }
    for (KernelManifest& manifest : manifests[m].kernels) {
      Kernel kernel;
      kernel.manifest = &manifest;
      kernel.family = m;
      kernel.glsl = *glsl;
      kernel.dialect = dialect;
      kernel.include_folders = options.include_folders;
      kernel.include_folders.push_back(*glsl);
      auto source = load_kernel_source(manifests[m], manifest, *glsl, sources);
      if (!source.ok()) {
        add_error(source.error().message);
        continue;
      }
      kernel.source = *source;
      if (manifest.device_auto) {
        const auto files =
            lexical_includes(kernel.source, kernel.include_folders, dialect, sources);
        if (const Status status = add_device_axes(manifest, tested_macros(files)); !status.ok()) {
          add_error(status.error().message);
          continue;
        }
      }
      auto expansion = expand(manifest);
      if (!expansion.ok()) {
        add_error(expansion.error().message);
        continue;
      }
      kernel.expansion = std::move(expansion).value();
      if (kernel.expansion.variants.empty()) {
        Diagnostic d = manifest.position;
        d.text = fmt::format("no variant of '{}' is left", manifest.name);
        add_error(to_string(d));
        continue;
      }
      kernels.push_back(std::move(kernel));
    }
  }
  if (!errors.empty()) return Error{ErrorCode::kInvalidArgument, errors};
  std::sort(kernels.begin(), kernels.end(),
            [](const Kernel& a, const Kernel& b) { return a.manifest->name < b.manifest->name; });
  return kernels;
}

void preprocess_job(const Kernel& kernel, Job& job, SourceStore& sources) {
  const Variant& variant = kernel.expansion.variants[job.variant];
  const std::string name = kernel.source->path.string();
  const Composed composed = compose(*kernel.source, variant);
  if (composed.error) {
    job.diagnostics.push_back(*composed.error);
    return;
  }
  FrontResult result =
      preprocess({composed.text, name, kernel.dialect, kernel.include_folders}, sources);
  job.diagnostics = std::move(result.diagnostics);
  job.ok = result.ok;
  result.included.insert(result.included.begin(), kernel.source);
  for (const auto& file : result.included) {
    for (Diagnostic& d : check_dialect_macros(*file)) {
      job.ok = false;
      job.diagnostics.push_back(std::move(d));
    }
  }
  if (kernel.manifest->strict) {
    for (Diagnostic& d : find_raw_access(result.included)) {
      job.ok = false;
      job.diagnostics.push_back(std::move(d));
    }
  }
  job.text = std::move(result.text);
  if (job.ok) {
    job.key = compile_key({job.text, name, kernel.manifest->optimise, kernel.manifest->target});
  }
}

// One compilation a distinct text; every job with that text takes its result.
void compile_jobs(const std::vector<Kernel>& kernels, std::vector<Job>& jobs, unsigned threads,
                  const Cache& cache, SourceStore& sources, BakeStats& stats) {
  std::map<std::string, std::vector<std::size_t>> by_key;
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].ok) continue;
    auto& users = by_key[jobs[i].key];
    if (users.empty()) first.push_back(i);
    users.push_back(i);
  }
  // Long texts first, so that no thread is left alone with one at the end.
  std::stable_sort(first.begin(), first.end(), [&](std::size_t a, std::size_t b) {
    return jobs[a].text.size() > jobs[b].text.size();
  });
  std::vector<CompileOutcome> outcomes(first.size());
  parallel_for(first.size(), threads, [&](std::size_t i) {
    const Job& job = jobs[first[i]];
    const Kernel& kernel = kernels[job.kernel];
    outcomes[i] = compile_kernel({job.text, kernel.source->path.string(), kernel.manifest->optimise,
                                  kernel.manifest->target},
                                 job.key, cache, sources);
  });
  stats.texts = first.size();
  for (std::size_t i = 0; i < first.size(); ++i) {
    (outcomes[i].from_cache ? stats.cache_hits : stats.compiled) += 1;
    for (std::size_t user : by_key[jobs[first[i]].key]) {
      Job& job = jobs[user];
      job.blob = outcomes[i].blob;
      job.ok = job.blob != nullptr;
      job.diagnostics.insert(job.diagnostics.end(), outcomes[i].diagnostics.begin(),
                             outcomes[i].diagnostics.end());
    }
  }
}

// Returns the number of kernels with an error.
std::size_t report(const std::vector<Kernel>& kernels, const std::vector<Job>& jobs,
                   const MessageCallback& message) {
  DiagnosticGroups groups;
  std::set<std::size_t> failed;
  for (const Job& job : jobs) {
    const Kernel& kernel = kernels[job.kernel];
    // A warning may come from both front-end passes.
    std::vector<Diagnostic> seen;
    for (const Diagnostic& d : job.diagnostics) {
      if (std::find(seen.begin(), seen.end(), d) != seen.end()) continue;
      seen.push_back(d);
      groups.add(d, kernel.manifest->name, kernel.expansion.variants[job.variant].name);
    }
    if (!job.ok) failed.insert(job.kernel);
  }
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const Kernel& kernel : kernels) {
    counts.emplace_back(kernel.manifest->name, kernel.expansion.variants.size());
  }
  groups.report(message, counts);
  return failed.size();
}

void explain(const std::vector<Kernel>& kernels, const PackedTable& table,
             const MessageCallback& message) {
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const Expansion& expansion = kernels[k].expansion;
    for (std::size_t v = 0; v < expansion.variants.size(); ++v) {
      const std::string& into = table.merged_into[k][v];
      message(Severity::kInfo,
              into.empty() ? fmt::format("kept {}", expansion.variants[v].name)
                           : fmt::format("merged {} into {}", expansion.variants[v].name, into));
    }
    for (const Pruned& pruned : expansion.pruned) {
      message(Severity::kInfo, fmt::format("pruned {} by {}", pruned.variant, pruned.rule));
    }
  }
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

}  // namespace

std::optional<fs::path> find_glsl_folder(const fs::path& manifest) {
  std::error_code code;
  const auto has_dialect = [&](const fs::path& glsl) {
    return fs::is_regular_file(glsl / "dialect" / "dialect.glsl", code);
  };
  // Relative paths stay relative while they can, so that messages and depfiles stay short.
  fs::path folder = manifest.parent_path();
  const fs::path absolute = fs::absolute(folder, code).lexically_normal();
  fs::path up = folder.empty() ? fs::path(".") : folder;
  for (fs::path at = absolute; !at.empty(); at = at.parent_path(), up /= "..") {
    if (has_dialect(at / "glsl")) return (up / "glsl").lexically_normal();
    if (at == at.root_path()) break;
  }
  const fs::path self = fs::read_symlink("/proc/self/exe", code);
  if (!code) {
    const fs::path installed = self.parent_path().parent_path() / "share" / "spirkiln" / "glsl";
    if (has_dialect(installed)) return installed;
  }
  return std::nullopt;
}

Result<BakeStats> bake(const BakeOptions& options, const MessageCallback& message) {
  BakeStats stats;
  if (!is_table_name(options.name)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the table name '{}' must be a lower-case letter, then up to 63 of "
                             "a-z, 0-9 and _",
                             options.name)};
  }
  const unsigned threads = options.jobs != 0 ? options.jobs : processor_count();
  const std::string settings = settings_line(options);
  if (!options.explain && stamp_holds(stamp_path(options), settings)) {
    stats.up_to_date = true;
    return stats;
  }
  if (const Status status = check_outputs(options); !status.ok()) return status.error();
  SourceStore sources;
  auto manifests = load_manifests(options.inputs, sources);
  if (!manifests.ok()) return manifests.error();
  auto loaded = load_kernels(options, *manifests, sources);
  if (!loaded.ok()) return loaded.error();
  const std::vector<Kernel>& kernels = *loaded;
  stats.manifests = manifests->size();
  stats.kernels = kernels.size();

  std::vector<Job> jobs;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    stats.pruned += kernels[k].expansion.pruned.size();
    for (std::size_t v = 0; v < kernels[k].expansion.variants.size(); ++v) {
      Job& job = jobs.emplace_back();
      job.kernel = k;
      job.variant = v;
    }
  }
  stats.variants = jobs.size();
  const Cache cache(options.cache);
  parallel_for(jobs.size(), threads,
               [&](std::size_t i) { preprocess_job(kernels[jobs[i].kernel], jobs[i], sources); });
  compile_jobs(kernels, jobs, threads, cache, sources, stats);
  if (const std::size_t failed = report(kernels, jobs, message); failed != 0) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{} of {} kernels failed; nothing was written", failed, kernels.size())};
  }

  std::vector<PackKernel> packing(kernels.size());
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    packing[k] = {kernels[k].manifest->name,
                  kernels[k].family,
                  static_cast<std::uint32_t>(kernels[k].source->hash),
                  kernels[k].expansion.variants,
                  {}};
  }
  for (const Job& job : jobs) packing[job.kernel].blobs.push_back(job.blob);
  auto table = pack_table(options.name, tool_versions(), packing, threads, cache);
  if (!table.ok()) return table.error();
  stats.unique_blobs = table->stats.unique_blobs;
  stats.raw_bytes = table->stats.raw_bytes;
  stats.unique_bytes = table->stats.unique_bytes;
  stats.packed_bytes = table->stats.packed_bytes;
  stats.table_bytes = table->bytes.size();
  if (options.explain && message) explain(kernels, *table, message);

  const Status written = write_all(options, packing, table->bytes, sources.opened(), settings);
  if (!written.ok()) return written.error();
  if (stats.compiled > 0) cache.trim(kMaxCacheBytes);
  return stats;
}

}  // namespace spirkiln::gen
