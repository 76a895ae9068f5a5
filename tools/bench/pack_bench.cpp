// SPDX-License-Identifier: Apache-2.0
// The generator's packing of a corpus, and the same modules as scripts/measure-packing gives them
// to other compressors: with ids of glslang's remapper, in one stream and in one a family.
#include <fmt/format.h>
#include <glslang/SPIRV/SPVRemapper.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "bake_load.hpp"
#include "cache.hpp"
#include "canonical_ids.hpp"
#include "compose.hpp"
#include "glslang_front.hpp"
#include "half_repair.hpp"
#include "newer_extensions.hpp"
#include "pack.hpp"
#include "reflect.hpp"
#include "spirv_tools.hpp"
#include "table/table.hpp"

using namespace spirkiln;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::uint32_t>;
using Clock = std::chrono::steady_clock;

// Kernel -> its modules.
using Family = std::map<std::string, std::vector<Words>>;

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Its kernels in all their variants, optimised and with names.
Family family_of_manifest(const fs::path& path) {
  gen::SourceStore sources;
  auto manifests = gen::load_manifests({path}, sources);
  if (!manifests.ok()) throw Failure(manifests.error().message);
  gen::SourceOptions options;
  options.inputs = {path};
  const auto kernels = gen::load_kernels(options, *manifests, sources);
  if (!kernels.ok()) throw Failure(kernels.error().message);
  Family family;
  for (const gen::BakeKernel& kernel : *kernels) {
    const std::string name = kernel.source->path.string();
    for (const gen::Variant& variant : kernel.expansion.variants) {
      const auto composed = gen::compose(*kernel.source, variant);
      const auto front =
          gen::preprocess({composed.text, name, kernel.dialect, kernel.include_folders}, sources);
      const gen::Target& target = gen::kTargets[gen::lowest_target(front.text)];
      // What only a second compiler knows is left out: so is the remapper's knowledge of it.
      const auto newer = gen::required_newer(front.text);
      if (std::any_of(newer.begin(), newer.end(),
                      [](const auto& e) { return !gen::knows_extension(e.name); })) {
        continue;
      }
      const auto compiled = gen::compile_with_repair(
          front.text, name, target, sources,
          [](const std::string& text, const std::string& file, const gen::Target& for_target,
             gen::SourceStore& store) { return gen::compile(text, file, for_target, store); });
      if (!compiled.ok) throw Failure(variant.name + " does not compile");
      auto words = gen::optimise(compiled.words, kernel.manifest->optimise, target);
      if (!words.ok()) throw Failure(words.error().message);
      family[kernel.manifest->name].push_back(*std::move(words));
    }
  }
  return family;
}

// Files of one folder are one kernel's.
Family family_of_folder(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".spv") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  Family family;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    if (!in.good() && bytes.empty()) throw Failure("cannot read " + path.string());
    Words words(bytes.size() / 4);
    std::copy_n(bytes.begin(), words.size() * 4, reinterpret_cast<char*>(words.data()));
    family[path.parent_path().string()].push_back(std::move(words));
  }
  return family;
}

Words stripped(const Words& words) {
  auto out = gen::strip(words, gen::kTargets[3]);
  if (!out.ok()) throw Failure(out.error().message);
  return *std::move(out);
}

// The remapper derives ids from names as well, so these go last.
std::string remapped(Words words, std::size_t& unknown) {
  try {
    spv::spirvbin_t(0).remap(words, spv::spirvbin_base_t::MAP_ALL);
  } catch (const std::exception&) {
    ++unknown;
  }
  const Words out = stripped(words);
  return {reinterpret_cast<const char*>(out.data()), out.size() * 4};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  if (!out.flush()) throw Failure("cannot write " + path.string());
}

gen::PackKernel pack_kernel(const std::string& name, const std::vector<Words>& modules,
                            std::size_t& ids_kept) {
  gen::PackKernel kernel;
  kernel.name = name;
  for (const Words& named : modules) {
    const Words words = stripped(named);
    auto blob = std::make_shared<gen::Blob>();
    const auto canonical = gen::canonical_ids(words);
    if (!canonical) ++ids_kept;
    blob->words = canonical ? *canonical : words;
    blob->vulkan_version = 1u << 22;
    auto reflection = gen::reflect(blob->words);
    if (!reflection.ok()) throw Failure(name + ": " + reflection.error().message);
    blob->reflection = *std::move(reflection);
    gen::Variant variant;
    variant.name = name + "_" + std::to_string(kernel.variants.size());
    kernel.variants.push_back(std::move(variant));
    kernel.blobs.push_back(std::move(blob));
  }
  return kernel;
}

// Milliseconds to all modules of one kernel, in a table where nothing was decoded before; the best
// of five, since others may use the processor.
std::vector<double> decode_times(const std::string& bytes) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  std::vector<double> times;
  for (std::size_t k = 0;; ++k) {
    double best = 1e9;
    for (int repeat = 0; repeat < 5; ++repeat) {
      const auto table = Table::from_bytes({data, data + bytes.size()}, "the packed corpus");
      if (!table.ok()) throw Failure(table.error().message);
      if (k == table->kernels().size()) return times;
      const auto begin = Clock::now();
      for (const auto& variant : table->variants_of(table->kernels()[k])) {
        const auto words = table->words(variant.blob);
        if (!words.ok()) throw Failure(words.error().message);
      }
      best =
          std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    }
    times.push_back(best);
  }
}

int run(const fs::path& out, const std::vector<fs::path>& inputs) {
  spv::spirvbin_t::registerErrorHandler([](const std::string& text) { throw Failure(text); });
  spv::spirvbin_t::registerLogHandler([](const std::string&) {});
  std::string stream;
  std::size_t modules = 0, unknown = 0, ids_kept = 0;
  std::vector<gen::PackKernel> kernels;
  for (std::size_t f = 0; f < inputs.size(); ++f) {
    const Family family =
        fs::is_directory(inputs[f]) ? family_of_folder(inputs[f]) : family_of_manifest(inputs[f]);
    std::string bytes;
    for (const auto& [name, list] : family) {
      for (const Words& words : list) bytes += remapped(words, unknown);
      modules += list.size();
      kernels.push_back(pack_kernel(name, list, ids_kept));
    }
    write(out / fmt::format("family{}.bin", f), bytes);
    stream += bytes;
  }
  write(out / "remapped.bin", stream);
  std::sort(kernels.begin(), kernels.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto begin = Clock::now();
  const auto packed =
      gen::pack_table("corpus", "a benchmark", kernels, 1, gen::Cache(std::nullopt));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (!packed.ok()) throw Failure(packed.error().message);
  write(out / "table.bin", packed->bytes);
  std::vector<double> times = decode_times(packed->bytes);
  std::sort(times.begin(), times.end());
  fmt::print(
      "{{\"families\": {}, \"kernels\": {}, \"modules\": {}, \"bytes\": {}, \"unique_bytes\": {}, "
      "\"ids_kept\": {}, \"unknown_to_remapper\": {}, \"table\": {}, \"pack_seconds\": {:.2f}, "
      "\"decode_ms_median\": {:.3f}, \"decode_ms_worst\": {:.3f}}}\n",
      inputs.size(), kernels.size(), modules, packed->stats.raw_bytes, packed->stats.unique_bytes,
      ids_kept, unknown, packed->bytes.size(), seconds, times.at(times.size() / 2), times.back());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: pack-bench OUT_FOLDER MANIFEST_OR_FOLDER...   (each one family)\n");
    return 2;
  }
  try {
    return run(argv[1], {argv + 2, argv + argc});
  } catch (const std::exception& e) {
    fmt::print(stderr, "pack-bench: error: {}\n", e.what());
    return 1;
  }
}
