// SPDX-License-Identifier: Apache-2.0
#include "bake_compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compose.hpp"
#include "device_macros.hpp"
#include "glslang_front.hpp"
#include "kernel_compiler.hpp"
#include "parallel.hpp"
#include "raw_access.hpp"
#include "word_errors.hpp"

namespace spirkiln::gen {
namespace {

// Extensions that newer compilers know. A variant that asks for one of them waits for its compiler;
// any other name is a mistake.
constexpr std::string_view kNewerExtensions[] = {"GL_EXT_bfloat16",
                                                 "GL_EXT_control_flow_attributes2",
                                                 "GL_EXT_expect_assume",
                                                 "GL_EXT_float_e4m3",
                                                 "GL_EXT_float_e5m2",
                                                 "GL_EXT_integer_dot_product",
                                                 "GL_EXT_maximal_reconvergence",
                                                 "GL_EXT_shader_quad_control",
                                                 "GL_KHR_cooperative_matrix",
                                                 "GL_KHR_shader_subgroup_rotate",
                                                 "GL_NV_cooperative_matrix",
                                                 "GL_NV_cooperative_matrix2",
                                                 "GL_NV_cooperative_vector"};

// Where the one thing wrong is such an extension.
void leave_out(BakeJob& job) {
  constexpr std::string_view kLead = "'#extension': extension not supported: ";
  for (const Diagnostic& d : job.diagnostics) {
    if (d.severity != Severity::kError || !d.text.starts_with(kLead)) continue;
    const std::string extension = d.text.substr(kLead.size());
    if (std::find(std::begin(kNewerExtensions), std::end(kNewerExtensions), extension) ==
        std::end(kNewerExtensions)) {
      return;
    }
    job.left_out = fmt::format("needs {}, which {} does not know", extension, glslang_version());
    Diagnostic warning = d;
    warning.severity = Severity::kWarning;
    warning.text = fmt::format("'{}': left out, {} does not know this extension", extension,
                               glslang_version());
    job.diagnostics = {std::move(warning)};
    return;
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
  if (!job.ok) leave_out(job);
  result.included.insert(result.included.begin(), kernel.source);
  for (const auto& file : result.included) {
    for (Diagnostic& d : check_dialect_macros(*file)) {
      job.ok = false;
      job.left_out.clear();
      job.diagnostics.push_back(std::move(d));
    }
  }
  if (kernel.manifest->strict) {
    for (Diagnostic& d : find_raw_access(result.included)) {
      job.ok = false;
      job.left_out.clear();
      job.diagnostics.push_back(std::move(d));
    }
  }
  job.files = std::move(result.included);
  job.text = std::move(result.text);
  if (job.ok) {
    for (Diagnostic& d : check_psc(job.text, name, job.files, sources)) {
      job.ok = false;
      job.diagnostics.push_back(std::move(d));
    }
  }
  if (job.ok) {
    job.key = compile_key({job.text, name, kernel.manifest->optimise, kernel.manifest->target});
  }
}

// One compilation a distinct text; every job with that text takes its result.
void compile_jobs(const std::vector<BakeKernel>& kernels, std::vector<BakeJob>& jobs,
                  unsigned threads, const Cache& cache, SourceStore& sources, BakeStats& stats) {
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
    const BakeJob& job = jobs[first[i]];
    const BakeKernel& kernel = kernels[job.kernel];
    outcomes[i] = compile_kernel({job.text, kernel.source->path.string(), kernel.manifest->optimise,
                                  kernel.manifest->target},
                                 job.key, cache, sources);
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
      if (!job.ok) leave_out(job);
    }
  }
}

}  // namespace

std::vector<BakeJob> compile_all(const std::vector<BakeKernel>& kernels, unsigned threads,
                                 const Cache& cache, SourceStore& sources, BakeStats& stats) {
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
  compile_jobs(kernels, jobs, threads, cache, sources, stats);
  parallel_for(jobs.size(), threads, [&](std::size_t i) {
    name_written_words(jobs[i].diagnostics, jobs[i].files, kernels[jobs[i].kernel].dialect,
                       sources);
  });
  for (const BakeJob& job : jobs) stats.left_out += !job.left_out.empty();
  return jobs;
}

std::size_t report(const std::vector<BakeKernel>& kernels, const std::vector<BakeJob>& jobs,
                   const MessageCallback& message) {
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
