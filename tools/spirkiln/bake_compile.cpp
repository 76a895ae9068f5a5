// SPDX-License-Identifier: Apache-2.0
#include "bake_compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "audit.hpp"
#include "compose.hpp"
#include "device_macros.hpp"
#include "glslang_front.hpp"
#include "kernel_compiler.hpp"
#include "parallel.hpp"
#include "raw_access.hpp"
#include "unread_axes.hpp"
#include "word_errors.hpp"

namespace spirkiln::gen {
namespace {

// The variant waits for a compiler that knows the extension.
void leave_out(BakeJob& job, const RequiredExtension& extension, const std::string& nobody,
               const std::string& name, SourceStore& sources) {
  job.ok = false;
  job.left_out = fmt::format("needs {}, which {}", extension.name, nobody);
  Diagnostic warning = place_of(extension, job.text, name, sources);
  warning.severity = Severity::kWarning;
  warning.text = fmt::format("'{}': left out, {} this extension{}", extension.name, nobody,
                             since_text(extension.name));
  job.diagnostics = {std::move(warning)};
}

void refuse(BakeJob& job, std::vector<Diagnostic> errors) {
  for (Diagnostic& d : errors) {
    job.ok = false;
    job.diagnostics.push_back(std::move(d));
  }
}

void preprocess_job(const BakeKernel& kernel, BakeJob& job, SourceStore& sources) {
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
  for (const auto& file : result.included) refuse(job, check_dialect_macros(*file));
  if (kernel.manifest->strict) refuse(job, find_raw_access(result.included));
  job.files = std::move(result.included);
  job.text = std::move(result.text);
  if (job.ok) refuse(job, check_psc(job.text, name, job.files, sources));
  job.newer = required_newer(job.text);
  std::erase_if(job.newer, [](const RequiredExtension& e) { return knows_extension(e.name); });
}

// Who compiles each text. Opens the second compiler where a text needs it.
Result<std::shared_ptr<const SecondCompiler>> assign(
    const std::vector<BakeKernel>& kernels, std::vector<BakeJob>& jobs,
    const std::optional<std::filesystem::path>& folder, SourceStore& sources) {
  std::shared_ptr<const SecondCompiler> second;
  for (BakeJob& job : jobs) {
    if (!job.ok || job.newer.empty()) continue;
    const std::string name = kernels[job.kernel].source->path.string();
    if (!folder) {
      leave_out(job, job.newer.front(), glslang_version() + " does not know", name, sources);
      continue;
    }
    if (second == nullptr) {
      auto opened = SecondCompiler::open(*folder);
      if (!opened.ok()) return opened.error();
      second = std::move(opened).value();
    }
    job.second = second.get();
    const auto unknown = std::find_if(job.newer.begin(), job.newer.end(),
                                      [&](const auto& e) { return !second->knows(e.name); });
    if (unknown == job.newer.end()) continue;
    leave_out(job, *unknown,
              fmt::format("neither {} nor {} knows", glslang_version(), second->version()), name,
              sources);
  }
  return second;
}

CompileRequest request_of(const BakeKernel& kernel, const BakeJob& job, const std::string& name,
                          bool debug) {
  const KernelManifest& manifest = *kernel.manifest;
  return {job.text,   name,  manifest.optimise,         manifest.target,
          job.second, debug, manifest.optimise_required};
}

// One compilation a distinct text; every job with that text takes its result.
void compile_jobs(const std::vector<BakeKernel>& kernels, std::vector<BakeJob>& jobs,
                  unsigned threads, const SourceOptions& options, const Cache& cache,
                  SourceStore& sources, BakeStats& stats) {
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
  std::mutex mutex;
  std::size_t done = 0;
  const auto count = [&] {
    if (!options.progress) return;
    const std::lock_guard lock(mutex);
    options.progress(++done, first.size());
  };
  parallel_for(first.size(), threads, [&](std::size_t i) {
    const BakeJob& job = jobs[first[i]];
    const BakeKernel& kernel = kernels[job.kernel];
    const std::string name = kernel.source->path.string();
    outcomes[i] =
        compile_kernel(request_of(kernel, job, name, options.debug), job.key, cache, sources);
    count();
  });
  stats.texts = first.size();
  for (std::size_t i = 0; i < first.size(); ++i) {
    (outcomes[i].from_cache ? stats.cache_hits : stats.compiled) += 1;
    for (std::size_t user : by_key[jobs[first[i]].key]) {
      BakeJob& job = jobs[user];
      job.blob = outcomes[i].blob;
      job.ok = job.blob != nullptr;
      job.diagnostics.insert(job.diagnostics.end(), outcomes[i].diagnostics.begin(),
                             outcomes[i].diagnostics.end());
      if (!job.ok) continue;
      const BakeKernel& kernel = kernels[job.kernel];
      refuse(job,
             audit(*kernel.manifest, kernel.expansion.variants[job.variant], job.blob->reflection));
    }
  }
}

// Of kernels that are right: of others not all includes are known.
void warn_of_unread_axes(const std::vector<BakeKernel>& kernels, const std::vector<BakeJob>& jobs,
                         const MessageCallback& message) {
  std::vector<std::set<std::shared_ptr<const SourceFile>>> files(kernels.size());
  std::vector<bool> wrong(kernels.size(), false);
  for (const BakeJob& job : jobs) {
    files[job.kernel].insert(job.files.begin(), job.files.end());
    if (!job.ok && job.left_out.empty()) wrong[job.kernel] = true;
  }
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (wrong[k]) continue;
    for (const Diagnostic& d :
         unread_axes(*kernels[k].manifest, {files[k].begin(), files[k].end()})) {
      message(d.severity, to_string(d));
    }
  }
}

}  // namespace

Result<std::vector<BakeJob>> compile_all(const std::vector<BakeKernel>& kernels,
                                         const SourceOptions& options, unsigned threads,
                                         const Cache& cache, SourceStore& sources,
                                         BakeStats& stats) {
  std::vector<BakeJob> jobs;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    for (std::size_t v = 0; v < kernels[k].expansion.variants.size(); ++v) {
      BakeJob& job = jobs.emplace_back();
      job.kernel = k;
      job.variant = v;
    }
  }
  parallel_for(jobs.size(), threads,
               [&](std::size_t i) { preprocess_job(kernels[jobs[i].kernel], jobs[i], sources); });
  const auto opened = assign(kernels, jobs, options.second, sources);
  if (!opened.ok()) return opened.error();
  parallel_for(jobs.size(), threads, [&](std::size_t i) {
    if (!jobs[i].ok) return;
    const BakeKernel& kernel = kernels[jobs[i].kernel];
    jobs[i].key =
        compile_key(request_of(kernel, jobs[i], kernel.source->path.string(), options.debug));
  });
  compile_jobs(kernels, jobs, threads, options, cache, sources, stats);
  parallel_for(jobs.size(), threads, [&](std::size_t i) {
    name_written_words(jobs[i].diagnostics, jobs[i].files, kernels[jobs[i].kernel].dialect,
                       sources);
  });
  for (BakeJob& job : jobs) {
    job.second = nullptr;  // it ends here
    stats.left_out += !job.left_out.empty();
    stats.unoptimised += job.blob != nullptr && job.blob->unoptimised;
    if (job.blob == nullptr || job.blob->compiler.empty()) continue;
    ++stats.by_second;
    stats.second_version = job.blob->compiler;
  }
  return jobs;
}

std::size_t report(const std::vector<BakeKernel>& kernels, const std::vector<BakeJob>& jobs,
                   const MessageCallback& message) {
  if (message) warn_of_unread_axes(kernels, jobs, message);
  DiagnosticGroups groups;
  std::set<std::size_t> failed;
  for (const BakeJob& job : jobs) {
    const BakeKernel& kernel = kernels[job.kernel];
    // A warning may come from both front-end passes.
    std::vector<Diagnostic> seen;
    for (const Diagnostic& d : job.diagnostics) {
      if (std::find(seen.begin(), seen.end(), d) != seen.end()) continue;
      seen.push_back(d);
      groups.add(d, kernel.manifest->name, kernel.expansion.variants[job.variant].name);
    }
    if (!job.ok && job.left_out.empty()) failed.insert(job.kernel);
  }
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const BakeKernel& kernel : kernels) {
    counts.emplace_back(kernel.manifest->name, kernel.expansion.variants.size());
  }
  groups.report(message, counts);
  return failed.size();
}

}  // namespace spirkiln::gen
