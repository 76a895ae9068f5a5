// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "bake.hpp"
#include "bake_load.hpp"
#include "commands.hpp"
#include "console.hpp"
#include "source_arguments.hpp"
#include "source_compiler.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;

int run_axes(const AxesArguments& arguments) {
  SourceStore sources;
  std::vector<KernelQuestions> kernels;
  for (const std::string& name : arguments.kernels) {
    if (fs::path(name).extension() == ".toml") {
      return fail(
          fmt::format("'{0}' is a manifest, and 'axes' reads kernels; 'spirkiln list "
                      "--explain {0}' shows what the kernels of a manifest test",
                      shown(name)));
    }
    auto source = sources.load(name);
    if (!source.ok()) return fail(source.error());
    const auto glsl =
        arguments.glsl.empty() ? find_glsl_folder(name) : std::optional<fs::path>(arguments.glsl);
    std::vector<fs::path> folders(arguments.folders.begin(), arguments.folders.end());
    if (glsl) folders.push_back(*glsl);
    const fs::path dialect = glsl ? *glsl / "dialect" / "dialect.glsl" : fs::path();
    kernels.push_back(ask_kernel(lexical_includes(*source, folders, dialect, sources)));
  }
  return write_stdout(arguments.json ? questions_json(kernels) : questions_text(kernels));
}

}  // namespace spirkiln::gen
