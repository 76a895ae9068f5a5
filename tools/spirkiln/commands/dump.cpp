// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "commands.hpp"
#include "compile_phase.hpp"
#include "compose.hpp"
#include "console.hpp"
#include "cross.hpp"
#include "expanded_source.hpp"
#include "files.hpp"
#include "link_phase.hpp"
#include "list.hpp"
#include "second_compiler.hpp"
#include "source_arguments.hpp"
#include "spirv_operands.hpp"
#include "spirv_tools.hpp"
#include "table/nearest_name.hpp"
#include "variant_command.hpp"
#include "watchdog.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
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

std::optional<Language> language_of(const DumpArguments& arguments) {
  if (arguments.as_glsl) return Language::kGlsl;
  if (arguments.as_essl) return Language::kEssl;
  if (arguments.as_msl) return Language::kMsl;
  if (arguments.as_hlsl) return Language::kHlsl;
  return std::nullopt;
}

// What a table has.
int dump_from(const Table& table, const DumpArguments& arguments,
              const std::vector<fs::path>& inputs) {
  const auto* variant = table.find_variant(arguments.variant);
  if (variant == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& v : table.variants()) names.push_back(table.string(v.name));
    return fail(fmt::format(
        "'{}' has no variant '{}'; the nearest is '{}', and 'spirkiln list {}' names all",
        shown(arguments.input), shown(arguments.variant), nearest_name(arguments.variant, names),
        shown(arguments.input)));
  }
  if (arguments.as_reflection) return write_stdout(reflection_json(table, *variant) + "\n");
  const auto fail_here = [&](const Error& e) {
    return fail(fmt::format("'{}', variant '{}': {}", shown(arguments.input), arguments.variant,
                            e.message));
  };
  const table::BlobEntry& blob = table.blobs()[variant->blob];
  const auto words = module_of(table, *variant);
  if (!words.ok()) return fail_here(words.error());
  if (!arguments.spirv.empty()) {
    const std::string_view bytes(reinterpret_cast<const char*>(words->data()), words->size() * 4);
    const Status possible = check_single_output(arguments.spirv, inputs);
    return possible.ok() ? write_single_output(arguments.spirv, bytes) : fail(possible.error());
  }
  const auto language = language_of(arguments);
  if (language && (blob.flags & table::kRawWords) != 0 && !read_operands(*words)) {
    return fail_here(
        {ErrorCode::kUnsupported,
         fmt::format("it has instructions that {} does not know, so it is not translated; "
                     "--asm and --spirv show it",
                     spirv_tools_version())});
  }
  const auto text =
      language ? cross_compile(*words, {blob.vulkan_version, blob.spirv_version}, *language)
               : disassemble_by(*words, arguments.source.glslc);
  if (!text.ok()) return fail_here(text.error());
  return write_stdout(*text);
}

bool is_manifest(const fs::path& input) {
  std::error_code code;
  return input.extension() == ".toml" || fs::is_directory(input, code);
}

// What the stages make of the variant; for what is behind them, a table of it alone.
int dump_manifest(const DumpArguments& arguments) {
  SourceOptions options;
  options.inputs = {arguments.input};
  options.variant = arguments.variant;
  options.debug = arguments.debug;
  fill(options, arguments.source);
  const Watchdog watchdog(std::chrono::seconds(arguments.source.time_limit));
  const Cache cache(options.cache);
  SourceStore sources;
  auto compiled = compile_kernels(options, cache, sources, print_message);
  if (!compiled.ok()) return fail(compiled.error());
  const BakeKernel& kernel = compiled->kernels.front();
  const Variant& variant = kernel.expansion.variants.front();
  const BakeJob& job = compiled->jobs.front();
  if (arguments.as_preprocessed) return write_stdout(job.text);
  if (arguments.as_expanded) {
    return write_stdout(with_includes(compose(*kernel.source, variant).text, kernel.source->path,
                                      kernel.dialect, kernel.include_folders, sources));
  }
  if (arguments.as_command) {
    return write_stdout(variant_command(kernel, variant, options, job.blob.get()));
  }
  const auto linked = link_kernels("dump", compiled->packing, 1, cache);
  if (!linked.ok()) return fail(linked.error());
  const auto table = table_of(linked->table);
  if (!table.ok()) return fail(table.error());
  std::vector<fs::path> read;
  for (const auto& file : sources.opened()) read.push_back(file.path);
  return dump_from(*table, arguments, read);
}

}  // namespace

int run_dump(const DumpArguments& arguments) {
  if (is_manifest(arguments.input)) return dump_manifest(arguments);
  if (arguments.as_expanded || arguments.as_preprocessed || arguments.as_command ||
      arguments.debug) {
    return fail(
        fmt::format("'{}' is a table, and a table holds no sources: name the manifest (or "
                    "its folder) for --expanded, --preprocessed, --command and --debug",
                    shown(arguments.input)));
  }
  const auto table = open_table_file(arguments.input);
  if (!table.ok()) return fail(table.error());
  return dump_from(*table, arguments, {arguments.input});
}

}  // namespace spirkiln::gen
