// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli_helpers.hpp"
#include "commands/commands.hpp"
#include "files.hpp"
#include "kernel_compiler.hpp"
#include "table/nearest_name.hpp"

namespace spirkiln::gen {
namespace {

struct Command {
  const CLI::App* options;
  std::function<int()> run;
};

constexpr const char* kDebugText =
    "Modules keep names, lines and the names of files as they were given; larger";

// Of the program's help all of them, of a command's its own.
using Example = std::string;
const Example kBakeExample =
    "  spirkiln bake variants/kernels --name ocr --out-dir build/variants\n";
const Example kCompileExample = "  spirkiln compile blur.toml -o blur.spko --depfile blur.spko.d\n";
const Example kLinkExample =
    "  spirkiln link blur.spko scale.spko --name filters --out-dir build\n";
const Example kListExample =
    "  spirkiln list build/variants/ocr_table.bin\n"
    "  spirkiln list --explain variants/kernels\n";
const Example kAxesExample = "  spirkiln axes glsl/kernels/gemm_nc.comp\n";
const Example kDumpExample =
    "  spirkiln dump build/variants/ocr_table.bin gemm_nc_fp16s --glsl\n"
    "  spirkiln dump variants/kernels gemm_nc_fp16s --command\n";
const Example kReportExample = "  spirkiln report build/variants/ocr_table.bin --html sizes.html\n";
const Example kLockExample =
    "  spirkiln lock build/variants/ocr_table.bin --check variants/ocr.lock\n";
const Example kDiffExample =
    "  spirkiln diff old/ocr_table.bin build/variants/ocr_table.bin --asm\n";
const Example kTuningExample = "  spirkiln tuning variants/tuning.toml -o tuning_table.hpp\n";
const Example kSpirvExample = "  spirkiln spirv kernel.comp --variant fp16sa -o kernel.spv\n";

CLI::App& add_command(CLI::App& app, const char* name, const char* text, const Example& example) {
  CLI::App& command = *app.add_subcommand(name, text);
  command.footer("Example:\n" + example);
  return command;
}

// A first word that is neither a command nor an option: what it may have meant.
std::optional<std::string> unknown_command(const CLI::App& app,
                                           const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with('-')) return std::nullopt;
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == words.front()) return std::nullopt;
    names.push_back(command->get_name());
  }
  return fmt::format("there is no command '{}'; the nearest is '{}'", shown(words.front()),
                     nearest_name(words.front(), names));
}

void add_time_limit(CLI::App& command, unsigned& seconds) {
  command
      .add_option("--time-limit", seconds,
                  "Seconds of processor time after which a variant that still compiles is given up")
      ->check(CLI::Range(1u, 86400u))
      ->capture_default_str();
}

CLI::Option* add_include_folders(CLI::App& command, std::vector<std::string>& folders) {
  return command.add_option("-I,--include-dir", folders, "Further folder for #include")
      ->allow_extra_args(false);
}

CLI::Option* add_glslc(CLI::App& command, std::string& folder) {
  return command.add_option(
      "--glslc", folder,
      "Folder of a second compiler, for extensions that the one that is linked in does not know:\n"
      "bin/glslc, bin/spirv-opt, bin/spirv-val, bin/spirv-dis; or 'none' (default:\n"
      "$SPIRKILN_GLSLC, else what scripts/fetch-glslc.sh fetched)");
}

void add_cache_options(CLI::App& command, CacheArguments& arguments) {
  auto* cache =
      command.add_option("--cache", arguments.folder,
                         "Folder of results to use again (default: $SPIRKILN_CACHE/bake, else\n"
                         "$XDG_CACHE_HOME/spirkiln/bake, else ~/.cache/spirkiln/bake)");
  command.add_flag("--no-cache", arguments.none, "Make everything anew")->excludes(cache);
}

void add_source_options(CLI::App& command, SourceArguments& arguments) {
  add_cache_options(command, arguments.cache);
  command.add_option("--glsl", arguments.glsl,
                     "Folder with dialect/ and kernels/ (default: the nearest 'glsl' in or "
                     "above a manifest's folder, else the one that came with this program)");
  add_include_folders(command, arguments.folders);
  add_glslc(command, arguments.glslc);
  command
      .add_option("--answers", arguments.answers,
                  "File of further known answers ([[answer]]) of these kernels")
      ->allow_extra_args(false)
      ->check(tool::not_empty());
  command
      .add_option("--target", arguments.target,
                  "At least vulkan1.0 ... vulkan1.3 for every kernel (default: the lowest that "
                  "compiles, or the manifest's)")
      ->check(CLI::IsMember({"vulkan1.0", "vulkan1.1", "vulkan1.2", "vulkan1.3"}));
  add_time_limit(command, arguments.time_limit);
}

void add_table_options(CLI::App& command, TableTarget& table, std::string& embed) {
  command.add_option("--name", table.name, "Name of the table: files are NAME_table.*")->required();
  command.add_option("--out-dir", table.out_dir, "Folder of the outputs")
      ->required()
      ->check(tool::not_empty());
  command.add_option("--embed", embed, "Form to link: incbin, array (a .cpp) or none")
      ->check(CLI::IsMember({"incbin", "array", "none"}))
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--quirks", [&table](const std::string& file) { table.quirks = file; },
          "What must not run on which devices, for the table (variants/quirks.toml)")
      ->type_name("FILE.toml")
      ->check(tool::not_empty());
}

void add_jobs(CLI::App& command, unsigned& jobs, const char* text) {
  command.add_option("-j,--jobs", jobs, text)->check(CLI::Range(1u, 1024u));
}

void add_depfile(CLI::App& command, std::string& depfile) {
  command.add_option("--depfile", depfile, "Write what was read, in Make's syntax")
      ->check(tool::not_empty());
}

void add_stats_options(CLI::App& command, StatsArguments& arguments) {
  command.add_flag("--stats", arguments.stats, "Print counts, sizes and time");
  command.add_flag("--json", arguments.json, "Print them as JSON")->needs("--stats");
}

Command add_bake(CLI::App& app) {
  const auto arguments = std::make_shared<BakeArguments>();
  CLI::App& command = add_command(app, "bake", "Compile manifests into a table", kBakeExample);
  command.add_option("manifests", arguments->options.inputs, "Manifests, or folders of them")
      ->required()
      ->check(tool::not_empty())
      ->type_name("MANIFEST_OR_FOLDER...");
  add_table_options(command, arguments->options, arguments->embed);
  add_jobs(command, arguments->options.jobs, "Threads (default: all processors)");
  add_depfile(command, arguments->depfile);
  add_source_options(command, arguments->source);
  command.add_flag("--debug", arguments->options.debug, kDebugText);
  command.add_flag("--explain", arguments->options.explain,
                   "Say which variants were kept, pruned by a rule or merged");
  add_stats_options(command, arguments->stats);
  return {&command, [arguments] { return run_bake(*arguments); }};
}

Command add_compile(CLI::App& app) {
  const auto arguments = std::make_shared<CompileArguments>();
  CLI::App& command = add_command(
      app, "compile", "Compile a manifest's kernels into an object, for 'link'", kCompileExample);
  command.add_option("manifest", arguments->manifest, "The manifest")
      ->required()
      ->check(tool::not_empty())
      ->type_name("MANIFEST");
  command.add_option("-o,--output", arguments->options.output, "The object (NAME.spko)")
      ->required()
      ->check(tool::not_empty());
  command.add_option("--kernel", arguments->options.kernel,
                     "One kernel of the manifest (default: all)");
  command
      .add_option("--beside", arguments->options.beside,
                  "Manifest of the same table, whose kernels files of --answers may be of, too")
      ->allow_extra_args(false)
      ->check(tool::not_empty())
      ->type_name("MANIFEST");
  add_depfile(command, arguments->depfile);
  add_jobs(command, arguments->options.jobs, "Threads (default: 1)");
  add_source_options(command, arguments->source);
  command.add_flag("--debug", arguments->options.debug, kDebugText);
  add_stats_options(command, arguments->stats);
  return {&command, [arguments] { return run_compile(*arguments); }};
}

Command add_link(CLI::App& app) {
  const auto arguments = std::make_shared<LinkArguments>();
  CLI::App& command =
      add_command(app, "link", "Make a table of the objects that 'compile' wrote", kLinkExample);
  command.add_option("objects", arguments->options.objects, "Objects, in any order")
      ->required()
      ->check(tool::not_empty())
      ->type_name("OBJECT...");
  add_table_options(command, arguments->options, arguments->embed);
  add_jobs(command, arguments->options.jobs, "Threads (default: all processors)");
  add_cache_options(command, arguments->cache);
  add_stats_options(command, arguments->stats);
  return {&command, [arguments] { return run_link(*arguments); }};
}

Command add_list(CLI::App& app) {
  const auto arguments = std::make_shared<ListArguments>();
  CLI::App& command = add_command(
      app, "list", "Show what is in a table, or what becomes of manifests", kListExample);
  command
      .add_option("table", arguments->inputs,
                  "A NAME_table.bin; with --explain, manifests or folders of them")
      ->required()
      ->check(tool::not_empty());
  auto* explain = command.add_flag(
      "--explain", arguments->explain,
      "For every point of the manifests' products: kept, merged, pruned or left out, and why");
  command.add_flag("--json", arguments->json, "As JSON, with the whole reflection");
  command.add_option("--glsl", arguments->source.glsl, "As for bake")->needs(explain);
  add_include_folders(command, arguments->source.folders)->needs(explain);
  command.add_option("--cache", arguments->source.cache.folder, "As for bake")->needs(explain);
  add_glslc(command, arguments->source.glslc)->needs(explain);
  return {&command, [arguments] { return run_list(*arguments); }};
}

Command add_axes(CLI::App& app) {
  const auto arguments = std::make_shared<AxesArguments>();
  CLI::App& command =
      add_command(app, "axes", "Show which macros about the device kernels test", kAxesExample);
  command.add_option("kernels", arguments->kernels, "Kernels")
      ->required()
      ->check(tool::not_empty());
  add_include_folders(command, arguments->folders);
  command.add_option("--glsl", arguments->glsl, "Folder with dialect/");
  command.add_flag("--json", arguments->json, "As JSON");
  return {&command, [arguments] { return run_axes(*arguments); }};
}

Command add_dump(CLI::App& app) {
  const auto arguments = std::make_shared<DumpArguments>();
  CLI::App& command = add_command(app, "dump", "Show one variant (default: --asm)", kDumpExample);
  command
      .add_option("input", arguments->input,
                  "A NAME_table.bin; or a manifest or a folder of them, out of which the variant "
                  "is compiled")
      ->required()
      ->check(tool::not_empty())
      ->type_name("TABLE_OR_MANIFEST");
  command.add_option("variant", arguments->variant, "Its name, as 'list' prints it")->required();
  auto* form = command.add_option_group("form");
  form->add_flag("--expanded", arguments->as_expanded,
                 "Of a manifest: GLSL with the variant's macros, the dialect and all includes in "
                 "place");
  form->add_flag("--preprocessed", arguments->as_preprocessed,
                 "Of a manifest: GLSL without macros, as the compiler gets it");
  form->add_flag("--command", arguments->as_command,
                 "Of a manifest: the command line that makes the same module by 'spirv'");
  form->add_option("--spirv", arguments->spirv,
                   "Write the words to a file, or - for standard output")
      ->check(tool::not_empty());
  form->add_flag("--asm", arguments->as_asm, "SPIR-V assembly");
  form->add_flag("--glsl", arguments->as_glsl, "GLSL, by SPIRV-Cross");
  form->add_flag("--essl", arguments->as_essl, "GLSL ES 3.10, by SPIRV-Cross");
  form->add_flag("--msl", arguments->as_msl, "Metal's language, by SPIRV-Cross");
  form->add_flag("--hlsl", arguments->as_hlsl, "HLSL, by SPIRV-Cross");
  form->add_flag("--reflect", arguments->as_reflection, "Bindings, constants and needs, as JSON");
  form->require_option(0, 1);
  command.add_flag("--debug", arguments->debug,
                   "Of a manifest: with names, lines and the names of files");
  add_cache_options(command, arguments->source.cache);
  command.add_option("--glsl-dir", arguments->source.glsl, "--glsl of bake");
  add_include_folders(command, arguments->source.folders);
  add_glslc(command, arguments->source.glslc);
  add_time_limit(command, arguments->source.time_limit);
  return {&command, [arguments] { return run_dump(*arguments); }};
}

Command add_spirv(CLI::App& app) {
  const auto arguments = std::make_shared<SpirvArguments>();
  CLI::App& command = add_command(app, "spirv", "Compile one kernel in one variant", kSpirvExample);
  command.add_option("file", arguments->file, "The kernel")->required()->check(tool::not_empty());
  command
      .add_option("--variant", arguments->variant,
                  "fp32, fp16p, fp16pa, fp16s, fp16sa; ncnn-2023: image, image_fp16p, "
                  "image_fp16pa, image_fp16s, image_fp16sa; ncnn-2026: fp16sau, bf16p, "
                  "bf16s")
      ->required();
  command.add_option("-o,--output", arguments->output, "The module, or - for standard output")
      ->required()
      ->check(tool::not_empty());
  command.add_option("--profile", arguments->profile, "Edition of the dialect")
      ->check(CLI::IsMember({"ncnn-2023", "ncnn-2026"}))
      ->capture_default_str();
  command
      .add_option("--target-env", arguments->target,
                  "At least this Vulkan (default: the lowest that the kernel's extensions allow)")
      ->check(CLI::IsMember({"vulkan1.0", "vulkan1.1", "vulkan1.2", "vulkan1.3"}));
  command.add_option("--local-size", arguments->local_size,
                     "X, X,Y or X,Y,Z for a kernel that declares none; what is left out is 1");
  command.add_flag("--strict", arguments->strict, "Raw access to stored values is an error");
  command
      .add_option("-D,--define", arguments->defines,
                  "NAME or NAME=VALUE: the kernel's own macros, NCNN_* switches, ncnn_* device "
                  "values")
      ->allow_extra_args(false);
  command.add_option("--acc", arguments->acc, "What acp is, as the axis acc says: float or afp")
      ->check(CLI::IsMember({"float", "afp"}))
      ->capture_default_str();
  command.add_flag("--debug", arguments->debug, kDebugText);
  add_include_folders(command, arguments->folders);
  command.add_option("--optimise", arguments->optimise, "none, performance or size")
      ->check(CLI::IsMember({"none", "performance", "size"}))
      ->capture_default_str();
  command.add_option("--glsl", arguments->glsl, "Folder with dialect/");
  add_glslc(command, arguments->glslc);
  add_time_limit(command, arguments->time_limit);
  return {&command, [arguments] { return run_spirv(*arguments); }};
}

Command add_report(CLI::App& app) {
  const auto arguments = std::make_shared<ReportArguments>();
  CLI::App& command =
      add_command(app, "report",
                  "Show where a table's bytes are, by kernel and by axis, and what would save some",
                  kReportExample);
  command.add_option("table", arguments->table, "A NAME_table.bin")
      ->required()
      ->check(tool::not_empty());
  command
      .add_option("manifests", arguments->manifests,
                  "Manifests, or folders of them, whose budgets the table has to keep")
      ->check(tool::not_empty())
      ->type_name("MANIFEST_OR_FOLDER...");
  command.add_option("--html", arguments->html, "Write a page with charts to this file instead")
      ->check(tool::not_empty());
  command.add_option("--budget", arguments->budget, "Fail when the file has more bytes")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  command.add_flag("--json", arguments->json, "As JSON");
  return {&command, [arguments] { return run_report(*arguments); }};
}

Command add_lock(CLI::App& app) {
  const auto arguments = std::make_shared<LockArguments>();
  CLI::App& command = add_command(
      app, "lock",
      "Write down what each variant of a table is and needs, or check that it still does",
      kLockExample);
  command.add_option("table", arguments->table, "A NAME_table.bin")
      ->required()
      ->check(tool::not_empty());
  auto* action = command.add_option_group("action");
  action
      ->add_option("-o,--output", arguments->output, "The lock to write, or - for standard output")
      ->check(tool::not_empty());
  action->add_option("--check", arguments->check,
                     "A lock: fail where variants or what they need differ, and, when the same "
                     "compilers made it, where sizes or hashes do");
  action->require_option(1);
  return {&command, [arguments] { return run_lock(*arguments); }};
}

Command add_diff(CLI::App& app) {
  const auto arguments = std::make_shared<DiffArguments>();
  CLI::App& command = add_command(
      app, "diff", "Compare two tables; as diff(1), exit status 1 says that they differ",
      kDiffExample);
  command.add_option("before", arguments->before, "A NAME_table.bin")
      ->required()
      ->check(tool::not_empty());
  command.add_option("after", arguments->after, "Another")->required()->check(tool::not_empty());
  command.add_flag("--asm", arguments->disassembly, "Compare changed modules' assembly as well");
  command.add_flag("--json", arguments->json, "As JSON");
  return {&command, [arguments] { return run_diff(*arguments); }};
}

Command add_tuning(CLI::App& app) {
  const auto arguments = std::make_shared<TuningArguments>();
  CLI::App& command =
      add_command(app, "tuning", "Check the runtime's tuning file, and write it as a C++ header",
                  kTuningExample);
  command.add_option("file", arguments->file, "The file (variants/tuning.toml)")
      ->required()
      ->check(tool::not_empty())
      ->type_name("FILE.toml");
  command
      .add_option("-o,--output", arguments->output,
                  "The header to write, or - for standard output (default: none)")
      ->check(tool::not_empty());
  return {&command, [arguments] { return run_tuning(*arguments); }};
}

}  // namespace

int run_command_line(const std::vector<std::string>& words) {
  CLI::App app{"Bakes extended-GLSL compute kernels into tables of SPIR-V."};
  app.name("spirkiln");
  app.set_version_flag("--version", tool_versions());
  app.require_subcommand(1);
  app.footer(
      "Any argument may be @FILE, which stands for the arguments in that file.\n"
      "Examples:\n" +
      kBakeExample + kCompileExample + kLinkExample + kListExample + kDumpExample + kReportExample +
      kLockExample + kDiffExample + kTuningExample + kSpirvExample +
      "  spirkiln model --help\n"
      "  spirkiln check --help\n"
      "  spirkiln access --help\n"
      "  spirkiln lint --help");
  const Command commands[] = {add_bake(app), add_compile(app), add_link(app),  add_spirv(app),
                              add_list(app), add_axes(app),    add_dump(app),  add_report(app),
                              add_lock(app), add_diff(app),    add_tuning(app)};
  // They parse their own options, see start_other().
  app.add_subcommand("model", "Pack an ONNX model (starts the program spirkiln-model)");
  app.add_subcommand("check",
                     "Check that graphs may run on devices (starts the program spirkiln-check)");
  app.add_subcommand("access",
                     "See how a kernel asks for memory (starts the program spirkiln-access)");
  app.add_subcommand("lint",
                     "Fail on kernels that waste memory (starts the program spirkiln-lint)");
  if (const auto mistake = unknown_command(app, words)) {
    fmt::print(stderr, "spirkiln: error: {}\nTry 'spirkiln --help'.\n", *mistake);
    return 2;
  }
  try {
    app.parse(
        std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes the last first
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return tool::print_help(app, e);
    fmt::print(stderr, "spirkiln: error: {}\nTry 'spirkiln --help'.\n", e.what());
    return 2;
  }
  for (const Command& command : commands) {
    if (command.options->parsed()) return command.run();
  }
  return 2;
}

}  // namespace spirkiln::gen
