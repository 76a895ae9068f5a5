// SPDX-License-Identifier: Apache-2.0
#include "compile_object.hpp"

#include <fmt/format.h>

#include <system_error>

#include "compile_phase.hpp"
#include "depfile.hpp"
#include "kernel_object.hpp"
#include "output_set.hpp"
#include "second_compiler.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
using namespace tool;

Result<BakeStats> compile_object(const ObjectOptions& options, const MessageCallback& message) {
  std::error_code code;
  if (fs::is_directory(options.inputs.front(), code)) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' is a folder: an object is made of one manifest; name one, or use "
                    "'spirkiln bake'",
                    options.inputs.front().string())};
  }
  if (Status status = check_output(options.output, false); !status.ok()) return status.error();
  if (options.depfile) {
    if (Status status = check_output(*options.depfile, false); !status.ok()) return status.error();
  }
  std::vector<fs::path> written = {options.output};
  if (options.depfile) written.push_back(*options.depfile);
  // The manifest at once; what it names is known at the end.
  if (Status status = refuse_inputs(written, options.inputs); !status.ok()) return status.error();
  SourceStore sources;
  const Cache cache(options.cache);
  auto compiled = compile_kernels(options, cache, sources, message);
  if (!compiled.ok()) return compiled.error();

  std::vector<fs::path> inputs;
  for (const auto& file : sources.opened()) {
    if (file.exists) inputs.push_back(file.path);
  }
  if (Status status = refuse_inputs(written, inputs); !status.ok()) return status.error();
  std::vector<Output> outputs = {{options.output, encode_object(compiled->packing)}};
  BakeStats stats = compiled->stats;
  stats.object_bytes = outputs.front().bytes.size();
  if (options.depfile) {
    if (stats.by_second != 0) {
      for (fs::path& file : second_folder_files(*options.second)) inputs.push_back(std::move(file));
    }
    auto text = emit_depfile({options.output}, inputs);
    if (!text.ok()) return text.error();
    outputs.push_back({*options.depfile, std::move(text).value()});
  }
  // Other objects may be on their way into the same folder.
  const FolderLock lock(options.output.has_parent_path() ? options.output.parent_path() : ".");
  remove_leftovers(outputs);
  if (Status status = write_outputs(outputs); !status.ok()) return status.error();
  if (stats.compiled > 0) cache.trim(kMaxCacheBytes);
  return stats;
}

}  // namespace spirkiln::gen
