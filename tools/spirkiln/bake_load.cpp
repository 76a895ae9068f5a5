// SPDX-License-Identifier: Apache-2.0
#include "bake_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "device_axes.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

// Of all kernels together: each is compiled.
constexpr std::size_t kMaxTableVariants = 65536;

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
                       shown(beside.lexically_normal()), shown(shared.lexically_normal()));
  return Error{ErrorCode::kIo, to_string(d)};
}

}  // namespace

std::optional<fs::path> find_glsl_folder(const fs::path& manifest) {
  std::error_code code;
  const auto has_dialect = [&](const fs::path& glsl) {
    return fs::is_regular_file(glsl / "dialect" / "dialect.glsl", code);
  };
  // Relative paths stay relative while they can, so that messages and depfiles stay short. The
  // absolute one says where the search ends: without a name at its end, each ".." is one folder.
  fs::path up = manifest.has_parent_path() ? manifest.parent_path() : fs::path(".");
  fs::path absolute = fs::absolute(up, code).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  for (fs::path at = absolute; !at.empty(); at = at.parent_path(), up /= "..") {
    if (has_dialect(at / "glsl")) return (up / "glsl").lexically_normal();
    if (at == at.root_path()) break;
  }
  const fs::path self = fs::read_symlink("/proc/self/exe", code);
  if (!code) {
    const fs::path installed = self.parent_path().parent_path() / "share" / "spirkiln" / "glsl";
    if (has_dialect(installed)) return installed;
  }
  const fs::path built = SPIRKILN_GLSL_FOLDER;
  if (has_dialect(built)) return built;
  return std::nullopt;
}

Result<std::vector<BakeKernel>> load_kernels(const SourceOptions& options,
                                             std::vector<Manifest>& manifests,
                                             SourceStore& sources) {
  std::vector<BakeKernel> kernels;
  std::size_t variants = 0;
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
                      shown(manifests[m].path)));
      continue;
    }
    const fs::path dialect = *glsl / "dialect" / "dialect.glsl";
    if (auto file = sources.load(dialect); !file.ok()) {
      add_error(file.error().message);
      continue;
    }
    for (KernelManifest& manifest : manifests[m].kernels) {
      BakeKernel kernel;
      kernel.manifest = &manifest;
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
      variants += kernel.expansion.variants.size();
      if (variants > kMaxTableVariants) {
        Diagnostic d = manifest.position;
        d.text = fmt::format("with '{}' the table has more than {} variants; bake several tables",
                             manifest.name, kMaxTableVariants);
        add_error(to_string(d));
        return Error{ErrorCode::kInvalidArgument, errors};
      }
      kernels.push_back(std::move(kernel));
    }
  }
  if (!errors.empty()) return Error{ErrorCode::kInvalidArgument, errors};
  std::sort(kernels.begin(), kernels.end(), [](const BakeKernel& a, const BakeKernel& b) {
    return a.manifest->name < b.manifest->name;
  });
  return kernels;
}

}  // namespace spirkiln::gen
