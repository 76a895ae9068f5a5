// SPDX-License-Identifier: Apache-2.0
// spirkiln-access: how a kernel asks for memory, line by line.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "bake_load.hpp"
#include "cli_helpers.hpp"
#include "dispatch_words.hpp"
#include "output_set.hpp"
#include "profile.hpp"
#include "program.hpp"

namespace {

using namespace spirkiln;
using namespace spirkiln::access;

struct Arguments {
  DispatchWords dispatch;
  std::string profile, glsl, html, cases, output;
  MemoryShape shape;
  bool json = false;
};

int fail(const std::string& text, int code = 1) {
  if (text.find(": error: ") != std::string::npos) {
    fmt::print(stderr, "{}\n", text);
  } else {
    fmt::print(stderr, "spirkiln-access: error: {}\n", text);
  }
  return code;
}

void warn(const std::string& text) { fmt::print(stderr, "spirkiln-access: warning: {}\n", text); }

void say(Severity severity, std::string_view text) {
  if (severity != Severity::kInfo) fmt::print(stderr, "spirkiln-access: {}\n", text);
}

Result<Device> open_any_device() {
  DeviceOptions options;
  options.message = say;
  // No table: the device gets every feature that a kernel may ask for.
  return open_device(options, Error{ErrorCode::kInvalidArgument, "no table"});
}

Result<Setting> setting_of(const Arguments& a) {
  Setting out;
  out.message = say;
  out.output = a.cases.empty() ? a.html : a.output;
  out.shape = a.shape;
  if (!a.profile.empty()) {
    const auto profile = check::load_profile(a.profile);
    if (!profile) return profile.error();
    const auto& m = profile->memory;
    const std::uint32_t warp = profile->caps.subgroup_size;
    out.shape = {warp == 0 ? 32 : warp, m.sector_bytes, m.line_bytes, m.shared_banks};
    out.rates = {static_cast<double>(m.line_rate), static_cast<double>(m.cache_rate),
                 static_cast<double>(m.memory_rate), static_cast<double>(m.cache_bytes)};
    out.shape_source = profile->caps.name;
  }
  const auto glsl =
      a.glsl.empty()
          ? gen::find_glsl_folder(a.dispatch.kernel.empty() ? "kernel.comp" : a.dispatch.kernel)
          : std::optional<std::filesystem::path>(a.glsl);
  if (!glsl) {
    return Error{ErrorCode::kIo, "the dialect's folder 'glsl' was not found; name it with --glsl"};
  }
  out.glsl = *glsl;
  return out;
}

int stop(const std::string& text, bool hung) {
  fail(text);
  if (hung) std::_Exit(1);  // the device would be waited for
  return 1;
}

// 0, or the exit status where the output is one of the inputs, or cannot be written.
int check_output(const std::string& output, std::vector<std::filesystem::path> inputs,
                 const Arguments& a) {
  if (output.empty()) return 0;
  for (const std::string& name : {a.profile, a.cases}) {
    if (!name.empty()) inputs.emplace_back(name);
  }
  const auto s = tool::may_write(output, std::move(inputs));
  if (s) return 0;
  return fail(s.error().message, s.error().code == ErrorCode::kInvalidArgument ? 2 : 1);
}

int run(const Arguments& a) {
  // What is wrong with the command line is told before anything is compiled.
  auto request = parse_dispatch(a.dispatch);
  if (!request) return fail(request.error().message, 2);
  request->statistics = true;
  request->pictures = a.html.empty() ? 0 : 64;
  if (const int status = check_output(a.html, a.dispatch.inputs(), a)) return status;
  const auto setting = setting_of(a);
  if (!setting) return fail(setting.error().message);
  const auto device = open_any_device();
  if (!device) return fail(device.error().message);
  bool hung = false;
  const auto report = look_at_words(a.dispatch, *request, *setting, *device, &hung);
  if (!report) return stop(report.error().message, hung);
  if (!report->warning.empty()) warn(report->warning);
  if (!a.html.empty()) {
    if (auto s = tool::write_file(a.html, report_html(*report)); !s) return fail(s.error().message);
  }
  if (!a.html.empty() && !a.json && ::isatty(STDERR_FILENO) == 1) {
    fmt::print(stderr, "spirkiln-access: wrote {}\n", a.html);
  }
  if (a.json || a.html.empty()) tool::print(a.json ? report_json(*report) : report_text(*report));
  return 0;
}

// Each line of the file is the words of one call.
int run_cases(const Arguments& a) {
  if (const int status = check_output(a.output, {}, a)) return status;
  auto cases = load_cases(a.cases, a.dispatch);
  if (!cases) return fail(cases.error().message);
  std::vector<std::filesystem::path> inputs;
  for (const Case& one : *cases) {
    const auto more = one.words.inputs();
    inputs.insert(inputs.end(), more.begin(), more.end());
  }
  if (const int status = check_output(a.output, std::move(inputs), a)) return status;
  const auto setting = setting_of(a);
  if (!setting) return fail(setting.error().message);
  const auto device = open_any_device();
  if (!device) return fail(device.error().message);
  std::string out;
  for (const Case& one : *cases) {
    bool hung = false;
    auto report = look_at_words(one.words, one.request, *setting, *device, &hung);
    if (!report) {
      return stop(fmt::format("{}: error: {}", one.place, report.error().message), hung);
    }
    if (report->figures.lost > 0) {
      return fail(fmt::format("{}: error: {} accesses did not fit into the trace", one.place,
                              report->figures.lost));
    }
    if (!report->warning.empty()) warn(fmt::format("{}: {}", one.place, report->warning));
    report->dispatch.label = one.text;
    out += prediction_line(report->dispatch);
  }
  if (a.output.empty()) {
    tool::print(out);
    return 0;
  }
  const auto written = tool::write_file(a.output, out);
  return written ? 0 : fail(written.error().message);
}

void add_options(CLI::App& app, Arguments& a) {
  add_dispatch_options(app, a.dispatch);
  auto* cases = app.add_option("--cases", a.cases,
                               "Instead of KERNEL: a file with the words of a dispatch a line. "
                               "Writes what each is predicted to move, for spirkiln-access-bench")
                    ->check(tool::not_empty())
                    ->type_name("FILE");
  app.add_option("-o,--output", a.output, "Of --cases (default: standard output)")
      ->needs(cases)
      ->check(tool::not_empty())
      ->type_name("FILE");
  auto* profile = app.add_option("--device", a.profile,
                                 "A device profile: warps, sectors, banks, and for times its rates")
                      ->type_name("FILE.toml");
  const auto size = CLI::Range(1u, 4096u);
  const CLI::Validator power_of_two(
      [](std::string& text) -> std::string {
        std::uint32_t value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);
        return std::has_single_bit(value) ? "" : text + " is no power of two";
      },
      "");
  for (auto* option :
       {app.add_option("--warp", a.shape.warp, "Invocations of a warp (default: 32)"),
        app.add_option("--sector", a.shape.sector, "Bytes of a sector (default: 32)"),
        app.add_option("--line", a.shape.line, "Bytes of a cache line (default: 128)"),
        app.add_option("--banks", a.shape.banks, "Banks of shared memory (default: 32)")}) {
    option->check(size)->excludes(profile);
  }
  // Addresses are split into sectors and lines by their bits.
  for (const char* name : {"--sector", "--line"}) app.get_option(name)->check(power_of_two);
  app.add_option("--glsl", a.glsl, "The folder that holds dialect/")->type_name("FOLDER");
  app.add_option("--html", a.html, "Write a page with a picture of each site to this file instead")
      ->check(tool::not_empty())
      ->type_name("FILE");
  app.add_flag("--json", a.json, "As JSON");
}

// What has no meaning beside --cases: empty, or the first such option.
std::string unused_by_cases(const CLI::App& app) {
  for (const char* name :
       {"--variant", "--groups", "--local", "--set", "--buffer", "--image", "--define", "--records",
        "--sample", "--timeout", "--seed", "--html", "--json"}) {
    if (app.count(name) > 0) return name;
  }
  return {};
}

int main_of(int argc, char** argv) {
  Arguments a;
  CLI::App app{
      "How a kernel asks for memory: runs an instrumented form of it and reports each access.\n"
      "Exit status: 0 done, whatever it found (spirkiln lint fails on findings), 1 an error, 2 a "
      "wrong command line."};
  app.name("spirkiln-access");
  app.set_version_flag("--version", "spirkiln-access " SPIRKILN_VERSION);
  app.footer(
      "Examples:\n"
      "  spirkiln access transpose_naive --groups 32,128 --set width=1024 --set height=1024\n"
      "  spirkiln access my.comp --variant fp16s --groups 64 --buffer 0=1M --html seen.html\n"
      "  spirkiln access gemm_nc --variant fp16s --local 8,8,4 --device "
      "variants/devices/h200.toml\n"
      "  spirkiln access --cases glsl/examples/cases.txt --device variants/devices/h200.toml -o "
      "predictions.txt");
  add_options(app, a);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return tool::print_help(app, e);
    return fail(fmt::format("{}\nTry 'spirkiln-access --help'.", e.what()), 2);
  }
  if (a.cases.empty() == a.dispatch.kernel.empty()) {
    return fail("name a kernel, or a file of --cases\nTry 'spirkiln-access --help'.", 2);
  }
  if (const std::string name = a.cases.empty() ? "" : unused_by_cases(app); !name.empty()) {
    return fail(fmt::format("{} beside --cases: each line of the file has its own options; its "
                            "result is lines for spirkiln-access-bench\nTry 'spirkiln-access "
                            "--help'.",
                            name),
                2);
  }
  return a.cases.empty() ? run(a) : run_cases(a);
}

}  // namespace

int main(int argc, char** argv) {
  return tool::run_program("spirkiln-access", main_of, argc, argv);
}
