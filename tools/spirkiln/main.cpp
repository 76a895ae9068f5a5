// SPDX-License-Identifier: Apache-2.0
// The program: its command line, its messages and exit codes. The work is in the library.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>

#include "bake.hpp"
#include "cache.hpp"
#include "cross.hpp"
#include "kernel_compiler.hpp"
#include "list.hpp"
#include "source_compiler.hpp"
#include "spirv_tools.hpp"
#include "watchdog.hpp"

namespace {
namespace fs = std::filesystem;
using namespace spirkiln;

int fail(std::string_view text) {
  fmt::print(stderr, "spirkiln: error: {}\n", text);
  return 1;
}

int fail(const Error& error) {
  // Messages about sources carry their own position, as compilers write them.
  if (error.message.find(": error: ") != std::string::npos) {
    fmt::print(stderr, "{}\n", error.message);
    return 1;
  }
  return fail(error.message);
}

int write_stdout(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() ||
      std::fflush(stdout) != 0) {
    return fail(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
  return 0;
}

void print_message(Severity severity, std::string_view text) {
  if (severity == Severity::kInfo) {
    fmt::print(stderr, "spirkiln: {}\n", text);
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

struct BakeArguments {
  gen::BakeOptions options;
  std::string cache;
  std::string depfile;
  std::string glsl;
  std::string embed = "incbin";
  unsigned time_limit = 120;
  bool no_cache = false;
  bool stats = false;
  bool json = false;
};

int run_bake(BakeArguments& arguments) {
  gen::BakeOptions& options = arguments.options;
  if (!arguments.depfile.empty()) options.depfile = arguments.depfile;
  if (!arguments.glsl.empty()) options.glsl = arguments.glsl;
  if (!arguments.cache.empty()) {
    options.cache = arguments.cache;
  } else if (!arguments.no_cache) {
    options.cache = gen::default_cache_folder();
  }
  options.embed = arguments.embed == "array"  ? gen::EmbedForm::kArray
                  : arguments.embed == "none" ? gen::EmbedForm::kNone
                                              : gen::EmbedForm::kIncbin;
  const auto start = std::chrono::steady_clock::now();
  const Watchdog watchdog(std::chrono::seconds(arguments.time_limit));
  auto result = gen::bake(options, print_message);
  if (!result.ok()) return fail(result.error());
  if (!arguments.stats) return 0;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const gen::BakeStats& s = *result;
  if (arguments.json) {
    return write_stdout(fmt::format(
        "{{\"up_to_date\": {}, \"manifests\": {}, \"kernels\": {}, \"variants\": {}, "
        "\"pruned\": {}, \"left_out\": {}, \"texts\": {}, \"cache_hits\": {}, \"compiled\": {}, "
        "\"unique_blobs\": "
        "{}, \"raw_bytes\": {}, \"unique_bytes\": {}, \"packed_bytes\": {}, \"table_bytes\": {}, "
        "\"seconds\": {:.3f}}}\n",
        s.up_to_date, s.manifests, s.kernels, s.variants, s.pruned, s.left_out, s.texts,
        s.cache_hits, s.compiled, s.unique_blobs, s.raw_bytes, s.unique_bytes, s.packed_bytes,
        s.table_bytes, seconds));
  }
  if (s.up_to_date) return write_stdout(fmt::format("up to date, {:.3f} s\n", seconds));
  return write_stdout(fmt::format(
      "{} manifests, {} kernels, {} variants, {} pruned{}\n"
      "{} distinct texts: {} from the cache, {} compiled\n"
      "{} distinct blobs: {} bytes, {} without duplicates, {} packed; table of {} bytes\n"
      "{:.3f} s\n",
      s.manifests, s.kernels, s.variants, s.pruned,
      s.left_out == 0 ? "" : fmt::format(", {} left out", s.left_out), s.texts, s.cache_hits,
      s.compiled, s.unique_blobs, s.raw_bytes, s.unique_bytes, s.packed_bytes, s.table_bytes,
      seconds));
}

struct ListArguments {
  std::vector<std::string> inputs;
  std::vector<std::string> folders;
  std::string glsl;
  std::string cache;
  bool explain = false;
  bool json = false;
};

int run_explain(const ListArguments& arguments) {
  gen::BakeOptions options;
  options.inputs.assign(arguments.inputs.begin(), arguments.inputs.end());
  options.include_folders.assign(arguments.folders.begin(), arguments.folders.end());
  if (!arguments.glsl.empty()) options.glsl = arguments.glsl;
  options.cache = arguments.cache.empty() ? gen::default_cache_folder()
                                          : std::optional<fs::path>(arguments.cache);
  const Watchdog watchdog(std::chrono::seconds(BakeArguments().time_limit));
  auto kernels = gen::explain(options, print_message);
  if (!kernels.ok()) return fail(kernels.error());
  return write_stdout(arguments.json ? gen::explain_json(*kernels) : gen::explain_text(*kernels));
}

int run_list(const ListArguments& arguments) {
  if (arguments.explain) return run_explain(arguments);
  if (arguments.inputs.size() != 1) {
    fmt::print(stderr, "spirkiln: error: 'list' shows one table\nTry 'spirkiln list --help'.\n");
    return 2;
  }
  auto table = Table::from_file(arguments.inputs.front());
  if (!table.ok()) return fail(table.error());
  const auto text = arguments.json ? gen::list_json(*table) : gen::list_text(*table);
  if (!text.ok())
    return fail(fmt::format("'{}': {}", arguments.inputs.front(), text.error().message));
  return write_stdout(*text);
}

int run_axes(const ListArguments& arguments) {
  gen::SourceStore sources;
  std::vector<gen::KernelQuestions> kernels;
  for (const std::string& name : arguments.inputs) {
    auto source = sources.load(name);
    if (!source.ok()) return fail(source.error());
    const auto glsl = arguments.glsl.empty() ? gen::find_dialect_for(name)
                                             : std::optional<fs::path>(arguments.glsl);
    std::vector<fs::path> folders(arguments.folders.begin(), arguments.folders.end());
    if (glsl) folders.push_back(*glsl);
    const fs::path dialect = glsl ? *glsl / "dialect" / "dialect.glsl" : fs::path();
    kernels.push_back(gen::ask_kernel(gen::lexical_includes(*source, folders, dialect, sources)));
  }
  return write_stdout(arguments.json ? gen::questions_json(kernels) : gen::questions_text(kernels));
}

struct DumpArguments {
  std::string table;
  std::string variant;
  std::string spirv;
  bool as_asm = false;
  bool as_glsl = false;
  bool as_msl = false;
  bool as_hlsl = false;
  bool as_reflection = false;
};

int run_dump(const DumpArguments& arguments) {
  auto table = Table::from_file(arguments.table);
  if (!table.ok()) return fail(table.error());
  const auto* variant = table->find_variant(arguments.variant);
  if (variant == nullptr) {
    return fail(fmt::format("'{}' has no variant '{}'; 'spirkiln list {}' names all",
                            arguments.table, arguments.variant, arguments.table));
  }
  if (arguments.as_reflection) {
    return write_stdout(gen::reflection_json(*table, *variant) + "\n");
  }
  const table::BlobEntry& blob = table->blobs()[variant->blob];
  const auto fail_here = [&](const Error& e) {
    return fail(
        fmt::format("'{}', variant '{}': {}", arguments.table, arguments.variant, e.message));
  };
  auto words = gen::module_of(*table, *variant);
  if (!words.ok()) return fail_here(words.error());
  if (!arguments.spirv.empty()) {
    const std::string_view bytes(reinterpret_cast<const char*>(words->data()), words->size() * 4);
    if (arguments.spirv == "-") return write_stdout(bytes);
    const Status status = gen::write_file(arguments.spirv, bytes);
    return status.ok() ? 0 : fail(status.error());
  }
  const bool cross = arguments.as_glsl || arguments.as_msl || arguments.as_hlsl;
  auto text = cross ? gen::cross_compile(*words, {blob.vulkan_version, blob.spirv_version},
                                         arguments.as_glsl  ? gen::Language::kGlsl
                                         : arguments.as_msl ? gen::Language::kMsl
                                                            : gen::Language::kHlsl)
                    : gen::disassemble(*words);
  if (!text.ok()) return fail_here(text.error());
  return write_stdout(*text);
}

struct SpirvArguments {
  std::string file;
  std::string output;
  std::string profile = "ncnn-2023";
  std::string variant;
  std::string target;
  std::string local_size;
  std::string optimise = "none";
  std::string glsl;
  std::vector<std::string> defines;
  std::vector<std::string> folders;
  unsigned time_limit = 120;
  bool strict = false;
};

std::optional<std::array<unsigned, 3>> parse_local_size(std::string_view text) {
  std::array<unsigned, 3> size{1, 1, 1};
  for (std::size_t i = 0; i < size.size(); ++i) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), size[i]);
    if (error != std::errc{} || size[i] == 0 || size[i] > 65535) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (text.empty()) return size;
    if (text.front() != ',' || i == 2) return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

int run_spirv(const SpirvArguments& arguments) {
  gen::SourceRequest request;
  request.profile = arguments.profile;
  request.form = arguments.variant;
  request.strict = arguments.strict;
  request.optimise = arguments.optimise == "performance" ? gen::Optimise::kPerformance
                     : arguments.optimise == "size"      ? gen::Optimise::kSize
                                                         : gen::Optimise::kNone;
  request.target = arguments.target.empty()
                       ? gen::VulkanTarget::kAuto
                       : static_cast<gen::VulkanTarget>(1 + (arguments.target.back() - '0'));
  if (!arguments.local_size.empty()) {
    request.local_size = parse_local_size(arguments.local_size);
    if (!request.local_size) {
      return fail(fmt::format("--local-size '{}': expected X, X,Y or X,Y,Z, each from 1 to 65535",
                              arguments.local_size));
    }
  }
  for (const std::string& define : arguments.defines) {
    const std::size_t equal = define.find('=');
    request.defines.emplace_back(define.substr(0, equal),
                                 equal == std::string::npos ? "1" : define.substr(equal + 1));
  }
  request.include_folders.assign(arguments.folders.begin(), arguments.folders.end());
  const auto glsl = arguments.glsl.empty() ? gen::find_dialect_for(arguments.file)
                                           : std::optional<fs::path>(arguments.glsl);
  if (!glsl) return fail("the dialect's folder 'glsl' was not found; name it with --glsl");
  request.glsl = *glsl;
  gen::SourceStore sources;
  auto source = sources.load(arguments.file);
  if (!source.ok()) return fail(source.error());
  request.source = *source;
  const Watchdog watchdog(std::chrono::seconds(arguments.time_limit));
  const gen::SourceOutcome outcome = gen::compile_source(request, sources);
  for (const gen::Diagnostic& d : outcome.diagnostics) {
    fmt::print(stderr, "{}\n", gen::to_string(d));
  }
  if (!outcome.ok) return 1;
  const std::string_view bytes(reinterpret_cast<const char*>(outcome.words.data()),
                               outcome.words.size() * 4);
  if (arguments.output == "-") return write_stdout(bytes);
  const Status status = gen::write_file(arguments.output, bytes);
  return status.ok() ? 0 : fail(status.error());
}

// Programs of their own: this one needs neither protobuf and onnx, as the packer of models does,
// nor the runtime, as the check of devices does. `room`: the folder of its tools in a build folder.
int run_other(std::string program, std::string_view room, char** arguments) {
  std::error_code code;
  const fs::path self = fs::read_symlink("/proc/self/exe", code);
  arguments[0] = program.data();
  if (!code) {
    // Installed they are neighbours; in a build folder each is in its own room's folder.
    for (const fs::path& path :
         {self.parent_path() / program, self.parent_path().parent_path() / room / program}) {
      if (fs::is_regular_file(path, code)) ::execv(path.c_str(), arguments);
    }
  }
  ::execvp(program.c_str(), arguments);
  return fail(
      fmt::format("cannot start '{}' ({}); it was looked for beside this program and on the "
                  "PATH",
                  program, std::strerror(errno)));
}

int run(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "model") return run_other("spirkiln-model", "model", argv + 1);
  if (first == "check") return run_other("spirkiln-check", "check", argv + 1);

  CLI::App app{"Bakes extended-GLSL compute kernels into tables of SPIR-V."};
  app.name("spirkiln");
  app.set_version_flag("--version", gen::tool_versions());
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  spirkiln bake variants/kernels --name ocr --out-dir build/variants\n"
      "  spirkiln list build/variants/ocr_table.bin\n"
      "  spirkiln list --explain variants/kernels\n"
      "  spirkiln dump build/variants/ocr_table.bin gemm_nc_fp16s --glsl\n"
      "  spirkiln spirv kernel.comp --variant fp16sa -o kernel.spv\n"
      "  spirkiln model --help\n"
      "  spirkiln check --help");

  BakeArguments bake;
  auto* bake_command = app.add_subcommand("bake", "Compile manifests into a table");
  bake_command->add_option("manifests", bake.options.inputs, "Manifests, or folders of them")
      ->required()
      ->type_name("MANIFEST_OR_FOLDER...");
  bake_command->add_option("--name", bake.options.name, "Name of the table: files are NAME_table.*")
      ->required();
  bake_command->add_option("--out-dir", bake.options.out_dir, "Folder of the outputs")->required();
  bake_command->add_option("-j,--jobs", bake.options.jobs, "Threads (default: all processors)")
      ->check(CLI::Range(1u, 1024u));
  bake_command->add_option("--depfile", bake.depfile, "Write what was read, in Make's syntax");
  auto* cache = bake_command->add_option(
      "--cache", bake.cache,
      "Folder of results to use again (default: $SPIRKILN_CACHE/bake, else\n"
      "$XDG_CACHE_HOME/spirkiln/bake, else ~/.cache/spirkiln/bake)");
  bake_command->add_flag("--no-cache", bake.no_cache, "Compile everything")->excludes(cache);
  bake_command->add_option("--glsl", bake.glsl,
                           "Folder with dialect/ and kernels/ (default: the nearest 'glsl' in or "
                           "above a manifest's folder)");
  bake_command
      ->add_option("-I,--include-dir", bake.options.include_folders, "Further folder for #include")
      ->allow_extra_args(false);
  bake_command->add_option("--embed", bake.embed, "Form to link: incbin, array (a .cpp) or none")
      ->check(CLI::IsMember({"incbin", "array", "none"}))
      ->capture_default_str();
  bake_command
      ->add_option("--time-limit", bake.time_limit,
                   "Seconds after which a variant that still compiles ends the bake")
      ->check(CLI::Range(1u, 86400u))
      ->capture_default_str();
  bake_command->add_flag("--explain", bake.options.explain,
                         "Say which variants were kept, pruned by a rule or merged");
  bake_command->add_flag("--stats", bake.stats, "Print counts, sizes and time");
  bake_command->add_flag("--json", bake.json, "Print them as JSON")->needs("--stats");

  SpirvArguments spirv;
  auto* spirv_command = app.add_subcommand("spirv", "Compile one kernel in one variant");
  spirv_command->add_option("file", spirv.file, "The kernel")->required();
  spirv_command
      ->add_option("--variant", spirv.variant,
                   "fp32, fp16p, fp16pa, fp16s, fp16sa; ncnn-2023: image, image_fp16p, "
                   "image_fp16pa, image_fp16s, image_fp16sa; ncnn-2026: fp16sau, bf16p, "
                   "bf16s")
      ->required();
  spirv_command->add_option("-o,--output", spirv.output, "The module, or - for standard output")
      ->required();
  spirv_command->add_option("--profile", spirv.profile, "Edition of the dialect")
      ->check(CLI::IsMember({"ncnn-2023", "ncnn-2026"}))
      ->capture_default_str();
  spirv_command
      ->add_option("--target-env", spirv.target,
                   "At least this Vulkan (default: the lowest that the kernel's extensions allow)")
      ->check(CLI::IsMember({"vulkan1.0", "vulkan1.1", "vulkan1.2", "vulkan1.3"}));
  spirv_command->add_option("--local-size", spirv.local_size,
                            "X,Y,Z for a kernel that declares none (default: 1,1,1)");
  spirv_command->add_flag("--strict", spirv.strict, "Raw access to stored values is an error");
  spirv_command
      ->add_option("-D,--define", spirv.defines,
                   "NAME or NAME=VALUE: the kernel's own macros, NCNN_* switches, ncnn_* device "
                   "values")
      ->allow_extra_args(false);
  spirv_command->add_option("-I,--include-dir", spirv.folders, "Further folder for #include")
      ->allow_extra_args(false);
  spirv_command->add_option("--optimise", spirv.optimise, "none, performance or size")
      ->check(CLI::IsMember({"none", "performance", "size"}))
      ->capture_default_str();
  spirv_command->add_option("--glsl", spirv.glsl, "Folder with dialect/");
  spirv_command->add_option("--time-limit", spirv.time_limit, "Seconds after which it gives up")
      ->check(CLI::Range(1u, 86400u))
      ->capture_default_str();

  ListArguments list;
  auto* list_command =
      app.add_subcommand("list", "Show what is in a table, or what becomes of manifests");
  list_command
      ->add_option("table", list.inputs,
                   "A NAME_table.bin; with --explain, manifests or folders of them")
      ->required();
  auto* list_explain = list_command->add_flag(
      "--explain", list.explain,
      "For every point of the manifests' products: kept, merged, pruned or left out, and why");
  list_command->add_flag("--json", list.json, "As JSON, with the whole reflection");
  list_command->add_option("--glsl", list.glsl, "As for bake")->needs(list_explain);
  list_command->add_option("-I,--include-dir", list.folders, "As for bake")
      ->allow_extra_args(false)
      ->needs(list_explain);
  list_command->add_option("--cache", list.cache, "As for bake")->needs(list_explain);

  ListArguments axes;
  auto* axes_command =
      app.add_subcommand("axes", "Show which macros about the device kernels test");
  axes_command->add_option("kernels", axes.inputs, "Kernels")->required();
  axes_command->add_option("-I,--include-dir", axes.folders, "Further folder for #include")
      ->allow_extra_args(false);
  axes_command->add_option("--glsl", axes.glsl, "Folder with dialect/");
  axes_command->add_flag("--json", axes.json, "As JSON");

  DumpArguments dump;
  auto* dump_command = app.add_subcommand("dump", "Show one variant (default: --asm)");
  dump_command->add_option("table", dump.table, "A NAME_table.bin")->required();
  dump_command->add_option("variant", dump.variant, "Its name, as 'list' prints it")->required();
  auto* form = dump_command->add_option_group("form");
  form->add_option("--spirv", dump.spirv, "Write the words to a file, or - for standard output");
  form->add_flag("--asm", dump.as_asm, "SPIR-V assembly");
  form->add_flag("--glsl", dump.as_glsl, "GLSL, by SPIRV-Cross");
  form->add_flag("--msl", dump.as_msl, "Metal's language, by SPIRV-Cross");
  form->add_flag("--hlsl", dump.as_hlsl, "HLSL, by SPIRV-Cross");
  form->add_flag("--reflect", dump.as_reflection, "Bindings, constants and needs, as JSON");
  form->require_option(0, 1);

  app.add_subcommand("model", "Pack an ONNX model (starts the program spirkiln-model)");
  app.add_subcommand("check",
                     "Check that graphs may run on devices (starts the program spirkiln-check)");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    fmt::print(stderr, "spirkiln: error: {}\nTry 'spirkiln --help'.\n", e.what());
    return 2;
  }
  if (*bake_command) return run_bake(bake);
  if (*spirv_command) return run_spirv(spirv);
  if (*list_command) return run_list(list);
  if (*axes_command) return run_axes(axes);
  return run_dump(dump);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return fail("out of memory");
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}
