// SPDX-License-Identifier: Apache-2.0
#include "table_outputs.hpp"

#include <fmt/format.h>

#include <system_error>

#include "emit.hpp"
#include "shown.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
using namespace tool;
namespace {

std::string_view embed_extension(EmbedForm embed) {
  return embed == EmbedForm::kIncbin ? "S" : embed == EmbedForm::kArray ? "cpp" : "";
}

}  // namespace

fs::path table_path(const TableTarget& target, std::string_view extension) {
  return target.out_dir / fmt::format("{}_table.{}", target.name, extension);
}

std::vector<fs::path> table_paths(const TableTarget& target) {
  std::vector<fs::path> paths = {table_path(target, "bin"), table_path(target, "hpp")};
  if (target.embed != EmbedForm::kNone) {
    paths.push_back(table_path(target, embed_extension(target.embed)));
  }
  return paths;
}

std::vector<Output> table_outputs(const TableTarget& target, const std::vector<PackKernel>& kernels,
                                  const std::string& table) {
  std::vector<Output> outputs;
  outputs.push_back({table_path(target, "bin"), table});
  outputs.push_back({table_path(target, "hpp"), emit_header(target.name, kernels)});
  if (target.embed != EmbedForm::kNone) {
    outputs.push_back({table_path(target, embed_extension(target.embed)),
                       target.embed == EmbedForm::kIncbin ? emit_assembly(target.name, table)
                                                          : emit_array(target.name, table)});
  }
  return outputs;
}

Status write_into(const fs::path& folder, const std::vector<Output>& outputs) {
  std::error_code code;
  const bool made = fs::create_directories(folder, code);
  if (code) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot make the folder '{}': {}; name another one with --out-dir",
                             shown(folder), code.message())};
  }
  Status status = [&] {
    const FolderLock lock(folder);
    remove_leftovers(outputs);
    return write_outputs(outputs);
  }();
  if (!status.ok() && made) fs::remove(folder, code);
  return status;
}

}  // namespace spirkiln::gen
