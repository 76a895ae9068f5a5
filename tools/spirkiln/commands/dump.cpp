// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "commands.hpp"
#include "console.hpp"
#include "cross.hpp"
#include "files.hpp"
#include "list.hpp"
#include "spirv_tools.hpp"

namespace spirkiln::gen {

int run_dump(const DumpArguments& arguments) {
  const auto table = Table::from_file(arguments.table);
  if (!table.ok()) return fail(table.error());
  const auto* variant = table->find_variant(arguments.variant);
  if (variant == nullptr) {
    return fail(fmt::format("'{}' has no variant '{}'; 'spirkiln list {}' names all",
                            arguments.table, arguments.variant, arguments.table));
  }
  if (arguments.as_reflection) return write_stdout(reflection_json(*table, *variant) + "\n");
  const auto fail_here = [&](const Error& e) {
    return fail(
        fmt::format("'{}', variant '{}': {}", arguments.table, arguments.variant, e.message));
  };
  const table::BlobEntry& blob = table->blobs()[variant->blob];
  const auto words = module_of(*table, *variant);
  if (!words.ok()) return fail_here(words.error());
  if (!arguments.spirv.empty()) {
    const std::string_view bytes(reinterpret_cast<const char*>(words->data()), words->size() * 4);
    if (arguments.spirv == "-") return write_stdout(bytes);
    const Status status = write_file(arguments.spirv, bytes);
    return status.ok() ? 0 : fail(status.error());
  }
  const bool cross = arguments.as_glsl || arguments.as_msl || arguments.as_hlsl;
  const auto text = cross ? cross_compile(*words, {blob.vulkan_version, blob.spirv_version},
                                          arguments.as_glsl  ? Language::kGlsl
                                          : arguments.as_msl ? Language::kMsl
                                                             : Language::kHlsl)
                          : disassemble(*words);
  if (!text.ok()) return fail_here(text.error());
  return write_stdout(*text);
}

}  // namespace spirkiln::gen
