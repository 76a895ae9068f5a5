// SPDX-License-Identifier: Apache-2.0
#include "compile_phase.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "answer_check.hpp"
#include "answer_codec.hpp"
#include "answer_reader.hpp"
#include "constant_check.hpp"
#include "parallel.hpp"
#include "table/nearest_name.hpp"

namespace spirkiln::gen {
namespace {

// Leaves `name` alone in the manifests.
Status choose(const std::string& name, std::vector<Manifest>& manifests) {
  std::vector<std::string> names;
  std::size_t left = 0;
  for (Manifest& manifest : manifests) {
    for (const KernelManifest& kernel : manifest.kernels) names.push_back(kernel.name);
    std::erase_if(manifest.kernels,
                  [&](const KernelManifest& kernel) { return kernel.name != name; });
    left += manifest.kernels.size();
  }
  if (left == 1) return Ok{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("no kernel '{}' in '{}', which has {}", name,
                           manifests.front().path.string(), fmt::join(names, ", "))};
}

// Leaves the variant alone in the kernels.
Status choose_variant(const std::string& name, std::vector<BakeKernel>& kernels) {
  std::vector<std::string_view> names;
  for (const BakeKernel& kernel : kernels) {
    for (const Variant& v : kernel.expansion.variants) names.push_back(v.name);
    for (const Pruned& pruned : kernel.expansion.pruned) {
      if (pruned.variant != name) continue;
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("there is no variant '{}': it is pruned by {}", name, pruned.rule)};
    }
  }
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("no variant '{}'; the nearest is '{}', and 'spirkiln list --explain' "
                             "names all",
                             shown(name), nearest_name(name, names))};
  }
  for (BakeKernel& kernel : kernels) {
    std::erase_if(kernel.expansion.variants, [&](const Variant& v) { return v.name != name; });
  }
  std::erase_if(kernels,
                [](const BakeKernel& kernel) { return kernel.expansion.variants.empty(); });
  return Ok{};
}

std::vector<VariantModule> modules_of(const CompiledKernels& compiled, std::size_t kernel) {
  std::vector<VariantModule> modules;
  const auto& variants = compiled.kernels[kernel].expansion.variants;
  for (const BakeJob& job : compiled.jobs) {
    if (job.kernel == kernel) modules.push_back({&variants[job.variant], job.blob.get()});
  }
  return modules;
}

// What manifests say of the modules of all kernels, as lines of errors.
std::string check_all_modules(const CompiledKernels& compiled) {
  std::string errors;
  const auto add = [&](const std::vector<Diagnostic>& found) {
    for (const Diagnostic& d : found) {
      if (!errors.empty()) errors += '\n';
      errors += to_string(d);
    }
  };
  for (std::size_t k = 0; k < compiled.kernels.size(); ++k) {
    const auto modules = modules_of(compiled, k);
    add(check_constants(*compiled.kernels[k].manifest, modules));
    add(check_answers(*compiled.kernels[k].manifest, modules));
  }
  return errors;
}

void warn_of_unproved_classes(const CompiledKernels& compiled, const MessageCallback& message) {
  std::vector<KernelModules> kernels;
  for (std::size_t k = 0; k < compiled.kernels.size(); ++k) {
    kernels.push_back({compiled.kernels[k].manifest, modules_of(compiled, k)});
  }
  for (const Diagnostic& d : unproved_classes(kernels)) message(d.severity, to_string(d));
}

// Gives each kernel those of the files that --answers names.
Status add_answers(const SourceOptions& options, std::vector<Manifest>& manifests,
                   SourceStore& sources) {
  if (options.answers.empty()) return Ok{};
  const auto beside = load_manifests(options.beside, sources);
  if (!beside.ok()) return beside.error();
  std::vector<std::string_view> names;
  const std::vector<Manifest>* const both[] = {&manifests, &*beside};
  for (const std::vector<Manifest>* all : both) {
    for (const Manifest& manifest : *all) {
      for (const KernelManifest& kernel : manifest.kernels) names.push_back(kernel.name);
    }
  }
  std::string errors;
  const auto add = [&](const std::string& text) { errors += (errors.empty() ? "" : "\n") + text; };
  for (const auto& path : options.answers) {
    const auto file = sources.load(path);
    auto answers =
        file.ok() ? parse_answer_file(**file) : Result<std::vector<PlacedAnswer>>(file.error());
    if (!answers.ok()) {
      add(answers.error().message);
      continue;
    }
    for (PlacedAnswer& placed : *answers) {
      const auto takes = [&](KernelManifest& kernel) {
        if (kernel.name != placed.answer.kernel) return false;
        kernel.answers.push_back(placed);
        return true;
      };
      const bool taken = std::any_of(manifests.begin(), manifests.end(), [&](Manifest& m) {
        return std::any_of(m.kernels.begin(), m.kernels.end(), takes);
      });
      // One kernel alone may be compiled, or one manifest of several; but no name is made up.
      if (taken || !options.kernel.empty()) continue;
      if (std::find(names.begin(), names.end(), placed.answer.kernel) != names.end()) continue;
      Diagnostic d = placed.position;
      d.text = fmt::format("no manifest has a kernel '{}'; the nearest is '{}'",
                           shown(placed.answer.kernel), nearest_name(placed.answer.kernel, names));
      add(to_string(d));
    }
  }
  if (errors.empty()) return Ok{};
  return Error{ErrorCode::kInvalidArgument, errors};
}

std::vector<PackKernel> packing_of(const CompiledKernels& compiled) {
  std::vector<PackKernel> packing;
  for (const BakeKernel& kernel : compiled.kernels) {
    PackKernel& next = packing.emplace_back();
    next.name = kernel.manifest->name;
    next.source_hash = static_cast<std::uint32_t>(kernel.source->hash);
    const auto modules = modules_of(compiled, packing.size() - 1);
    next.constants = constant_ids(*kernel.manifest, modules);
    const std::vector<Answer> answers = typed_answers(*kernel.manifest, modules);
    if (!answers.empty()) next.parts[kAnswersAttachment] = encode_answers(answers);
  }
  for (const BakeJob& job : compiled.jobs) {
    if (job.blob == nullptr) continue;
    PackKernel& kernel = packing[job.kernel];
    kernel.variants.push_back(compiled.kernels[job.kernel].expansion.variants[job.variant]);
    kernel.blobs.push_back(job.blob);
  }
  return packing;
}

}  // namespace

unsigned thread_count(unsigned jobs) { return jobs != 0 ? jobs : processor_count(); }

Result<CompiledKernels> compile_kernels(const SourceOptions& options, const Cache& cache,
                                        SourceStore& sources, const MessageCallback& message) {
  CompiledKernels compiled;
  auto manifests = load_manifests(options.inputs, sources);
  if (!manifests.ok()) return manifests.error();
  compiled.manifests = std::move(manifests).value();
  for (Manifest& manifest : compiled.manifests) {
    for (KernelManifest& kernel : manifest.kernels) {
      kernel.target = std::max(kernel.target, options.target);
    }
  }
  if (!options.kernel.empty()) {
    if (Status status = choose(options.kernel, compiled.manifests); !status.ok()) {
      return status.error();
    }
  }
  if (Status status = add_answers(options, compiled.manifests, sources); !status.ok()) {
    return status.error();
  }
  auto kernels = load_kernels(options, compiled.manifests, sources);
  if (!kernels.ok()) return kernels.error();
  compiled.kernels = std::move(kernels).value();
  if (!options.variant.empty()) {
    if (Status status = choose_variant(options.variant, compiled.kernels); !status.ok()) {
      return status.error();
    }
  }
  BakeStats& stats = compiled.stats;
  if (options.second) {
    if (Status status = check_second_folder(*options.second); !status.ok()) return status.error();
  }
  auto jobs =
      compile_all(compiled.kernels, options, thread_count(options.jobs), cache, sources, stats);
  if (!jobs.ok()) return jobs.error();
  compiled.jobs = std::move(jobs).value();
  if (const std::size_t failed = report(compiled.kernels, compiled.jobs, message); failed != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} of {} kernels failed; nothing was written", failed,
                             compiled.kernels.size())};
  }
  // One variant need not have every constant.
  std::string errors = options.variant.empty() ? check_all_modules(compiled) : std::string();
  if (!errors.empty()) {
    return Error{ErrorCode::kInvalidArgument, std::move(errors)};
  }
  if (message && options.variant.empty()) warn_of_unproved_classes(compiled, message);
  compiled.packing = packing_of(compiled);
  stats.manifests = compiled.manifests.size();
  stats.kernels = compiled.kernels.size();
  stats.variants = compiled.jobs.size() - stats.left_out;
  for (const BakeKernel& kernel : compiled.kernels) stats.pruned += kernel.expansion.pruned.size();
  return compiled;
}

}  // namespace spirkiln::gen
