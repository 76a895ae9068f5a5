// SPDX-License-Identifier: Apache-2.0
// Processor time of compiling every variant of some kernels, each by itself (no cache, equal texts
// compiled again), and of the bare library calls; and the texts, for scripts/measure-compile to
// give to other compilers.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bake_load.hpp"
#include "compile_phase.hpp"
#include "compose.hpp"
#include "half_repair.hpp"
#include "kernel_compiler.hpp"
#include "pack.hpp"
#include "parallel.hpp"
#include "spirv_tools.hpp"

using namespace spirkiln;
namespace fs = std::filesystem;

namespace {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Of this process, all threads, user and system.
double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Loaded {
  gen::SourceStore sources;
  std::vector<gen::Manifest> manifests;
  std::vector<gen::BakeKernel> kernels;

  explicit Loaded(const std::vector<fs::path>& inputs) {
    auto read = gen::load_manifests(inputs, sources);
    if (!read.ok()) throw Failure(read.error().message);
    manifests = std::move(read).value();
    gen::SourceOptions options;
    options.inputs = inputs;
    auto loaded = gen::load_kernels(options, manifests, sources);
    if (!loaded.ok()) throw Failure(loaded.error().message);
    kernels = std::move(loaded).value();
  }
};

struct Job {
  const gen::BakeKernel* kernel;
  const gen::Variant* variant;
  std::string name;  // the source's, for messages
};

std::vector<Job> jobs_of(const Loaded& loaded) {
  std::vector<Job> jobs;
  for (const gen::BakeKernel& kernel : loaded.kernels) {
    for (const gen::Variant& variant : kernel.expansion.variants) {
      jobs.push_back({&kernel, &variant, kernel.source->path.string()});
    }
  }
  return jobs;
}

std::string expanded(const Job& job, gen::SourceStore& sources) {
  const gen::Composed composed = gen::compose(*job.kernel->source, *job.variant);
  if (composed.error) throw Failure(job.variant->name + ": " + composed.error->text);
  gen::FrontResult front = gen::preprocess(
      {composed.text, job.name, job.kernel->dialect, job.kernel->include_folders}, sources);
  if (!front.ok) throw Failure(job.variant->name + " cannot be expanded");
  return std::move(front.text);
}

const gen::Target& target_of(const std::string& text) {
  return gen::kTargets[gen::lowest_target(text)];
}

// The text that compiles: conversions of the dialect are in it.
std::string converted(const Job& job, gen::SourceStore& sources) {
  const std::string text = expanded(job, sources);
  std::string last;
  const auto keep = [&](const std::string& tried, const std::string& name,
                        const gen::Target& target, gen::SourceStore& store) {
    gen::FrontResult result = gen::compile(tried, name, target, store);
    if (result.ok) last = tried;
    return result;
  };
  if (!gen::compile_with_repair(text, job.name, target_of(text), sources, keep).ok) {
    throw Failure(job.variant->name + " does not compile");
  }
  return last;
}

// One file a variant, and "FILE vulkan1.x" for each on standard output.
void write_texts(const fs::path& out, const std::vector<fs::path>& inputs) {
  Loaded loaded(inputs);
  for (const Job& job : jobs_of(loaded)) {
    const std::string text = converted(job, loaded.sources);
    const fs::path path = out / (job.variant->name + ".comp");
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush()) throw Failure("cannot write " + path.string());
    fmt::print("{} vulkan1.{}\n", path.string(), target_of(text).vulkan >> 12 & 0x3ffu);
  }
}

// What a bake does of all variants, and then its packing.
void time_bake(unsigned threads, const std::vector<fs::path>& inputs) {
  const double start = cpu_seconds();
  Loaded loaded(inputs);
  const std::vector<Job> jobs = jobs_of(loaded);
  std::vector<gen::CompileOutcome> outcomes(jobs.size());
  const gen::Cache none(std::nullopt);
  gen::parallel_for(jobs.size(), threads, [&](std::size_t i) {
    const std::string text = expanded(jobs[i], loaded.sources);
    const gen::KernelManifest& manifest = *jobs[i].kernel->manifest;
    const gen::CompileRequest request{text, jobs[i].name, manifest.optimise, manifest.target};
    outcomes[i] = gen::compile_kernel(request, gen::compile_key(request), none, loaded.sources);
  });
  const double compiled = cpu_seconds();
  std::vector<gen::PackKernel> packing;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (outcomes[i].blob == nullptr) throw Failure(jobs[i].variant->name + " does not compile");
    const std::string& name = jobs[i].kernel->manifest->name;
    if (packing.empty() || packing.back().name != name) packing.push_back({name, 0, {}, {}, {}});
    packing.back().variants.push_back(*jobs[i].variant);
    packing.back().blobs.push_back(outcomes[i].blob);
  }
  const auto packed = gen::pack_table("bench", "a benchmark", packing, threads, none);
  if (!packed.ok()) throw Failure(packed.error().message);
  fmt::print("{{\"variants\": {}, \"compile\": {:.3f}, \"pack\": {:.3f}}}\n", jobs.size(),
             compiled - start, cpu_seconds() - compiled);
}

// Front end, optimiser and validator on the same texts, and nothing else between them.
void time_calls(const std::vector<fs::path>& inputs) {
  Loaded loaded(inputs);
  std::vector<std::string> texts;
  const std::vector<Job> jobs = jobs_of(loaded);
  for (const Job& job : jobs) texts.push_back(converted(job, loaded.sources));
  double front = 0, optimise = 0, validate = 0;
  gen::parallel_for(1, 1, [&](std::size_t) {  // on a stack as a bake has it
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const gen::Target& target = target_of(texts[i]);
      const double begin = cpu_seconds();
      const auto compiled = gen::compile(texts[i], jobs[i].name, target, loaded.sources);
      const double a = cpu_seconds();
      const auto words = gen::optimise(compiled.words, jobs[i].kernel->manifest->optimise, target);
      if (!words.ok()) throw Failure(words.error().message);
      const double b = cpu_seconds();
      if (!gen::validate(*words, target).ok()) throw Failure(jobs[i].variant->name);
      front += a - begin;
      optimise += b - a;
      validate += cpu_seconds() - b;
    }
  });
  fmt::print("{{\"front\": {:.3f}, \"optimise\": {:.3f}, \"validate\": {:.3f}}}\n", front, optimise,
             validate);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 2 ? argv[1] : "";
  const bool with_argument = mode == "texts" || mode == "bake";
  if (argc < 3 + with_argument || (!with_argument && mode != "calls")) {
    fmt::print(stderr,
               "usage: compile-bench texts OUT_FOLDER MANIFEST...\n"
               "       compile-bench bake THREADS MANIFEST...\n"
               "       compile-bench calls MANIFEST...\n");
    return 2;
  }
  const std::vector<fs::path> inputs(argv + 2 + with_argument, argv + argc);
  try {
    if (mode == "texts") {
      write_texts(argv[2], inputs);
    } else if (mode == "bake") {
      time_bake(static_cast<unsigned>(std::stoul(argv[2])), inputs);
    } else {
      time_calls(inputs);
    }
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "compile-bench: error: {}\n", e.what());
    return 1;
  }
}
