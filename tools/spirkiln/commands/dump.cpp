// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "commands.hpp"
#include "console.hpp"
#include "cross.hpp"
#include "files.hpp"
#include "list.hpp"
#include "nearest_name.hpp"
#include "second_compiler.hpp"
#include "spirv_operands.hpp"
#include "spirv_tools.hpp"

namespace spirkiln::gen {
namespace {

// A module that the SPIRV-Tools which are linked in do not know is the second compiler's.
Result<std::string> disassemble_by(const std::vector<std::uint32_t>& words,
                                   const std::string& glslc) {
  auto text = disassemble(words);
  if (text.ok()) return text;
  const auto folder = second_folder(glslc);
  if (!folder) {
    return Error{text.error().code,
                 fmt::format("{} does not know this module ({}); scripts/fetch-glslc.sh fetches a "
                             "newer one, --glslc names another",
                             spirv_tools_version(), text.error().message)};
  }
  auto second = SecondCompiler::open(*folder);
  if (!second.ok()) return second.error();
  return (*second)->disassemble(words);
}

}  // namespace

int run_dump(const DumpArguments& arguments) {
  const auto table = open_table_file(arguments.table);
  if (!table.ok()) return fail(table.error());
  const auto* variant = table->find_variant(arguments.variant);
  if (variant == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& v : table->variants()) names.push_back(table->string(v.name));
    return fail(fmt::format(
        "'{}' has no variant '{}'; the nearest is '{}', and 'spirkiln list {}' names all",
        shown(arguments.table), shown(arguments.variant), nearest_name(arguments.variant, names),
        shown(arguments.table)));
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
    const Status possible = check_single_output(arguments.spirv, {arguments.table});
    return possible.ok() ? write_single_output(arguments.spirv, bytes) : fail(possible.error());
  }
  if ((blob.flags & table::kRawWords) != 0 && !read_operands(*words) &&
      (arguments.as_glsl || arguments.as_msl || arguments.as_hlsl)) {
    return fail_here(
        {ErrorCode::kUnsupported,
         fmt::format("it has instructions that {} does not know, so it is not translated; "
                     "--asm and --spirv show it",
                     spirv_tools_version())});
  }
  const bool cross = arguments.as_glsl || arguments.as_msl || arguments.as_hlsl;
  const auto text = cross ? cross_compile(*words, {blob.vulkan_version, blob.spirv_version},
                                          arguments.as_glsl  ? Language::kGlsl
                                          : arguments.as_msl ? Language::kMsl
                                                             : Language::kHlsl)
                          : disassemble_by(*words, arguments.glslc);
  if (!text.ok()) return fail_here(text.error());
  return write_stdout(*text);
}

}  // namespace spirkiln::gen
