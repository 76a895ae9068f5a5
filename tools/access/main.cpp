// SPDX-License-Identifier: Apache-2.0
// spirkiln-access: how a kernel asks for memory, line by line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "bake_load.hpp"
#include "cli_helpers.hpp"
#include "look.hpp"
#include "options.hpp"
#include "output_set.hpp"
#include "profile.hpp"
#include "program.hpp"
#include "read_file.hpp"
#include "second_compiler.hpp"

namespace {

using namespace spirkiln;
using namespace spirkiln::access;

struct Arguments {
  std::string kernel, variant, groups = "1", local, profile, glsl, glslc, html;
  std::vector<std::string> manifests, sets, buffers, images, defines;
  MemoryShape shape;
  std::uint32_t records = 1 << 22, sample = 0, timeout = 60, seed = 1;
  std::string cases, output;
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

Status parse(const Arguments& a, DispatchRequest* request) {
  const auto triple = [](const char* option,
                         const std::string& text) -> Result<std::array<std::uint32_t, 3>> {
    if (const auto value = parse_triple(text)) return *value;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} '{}': expected X, X,Y or X,Y,Z, each from 1", option, text)};
  };
  auto groups = triple("--groups", a.groups);
  if (!groups) return std::move(groups).error();
  request->groups = *groups;
  if (!a.local.empty()) {
    auto local = triple("--local", a.local);
    if (!local) return std::move(local).error();
    request->local = *local;
  }
  for (const std::string& text : a.buffers) {
    if (auto s = parse_buffer(text, request); !s) return s;
  }
  for (const std::string& text : a.images) {
    if (auto s = parse_image(text, request); !s) return s;
  }
  for (const std::string& text : a.sets) {
    if (auto s = parse_value(text, request); !s) return s;
  }
  request->records = a.records;
  request->sample = a.sample;
  request->timeout_s = a.timeout;
  request->seed = a.seed;
  request->statistics = a.cases.empty();
  request->pictures = a.html.empty() ? 0 : 64;
  return Ok{};
}

Result<Device> open_any_device() {
  DeviceOptions options;
  options.message = say;
  // No table: the device gets every feature that a kernel may ask for.
  return open_device(options, Error{ErrorCode::kInvalidArgument, "no table"});
}

// What all dispatches of a call share.
struct Shared {
  MemoryShape shape;
  MemoryRates rates;
  std::string shape_source = "options";
  std::filesystem::path glsl;
};

Result<Shared> shared_of(const Arguments& a) {
  Shared out;
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
  const auto glsl = a.glsl.empty()
                        ? gen::find_glsl_folder(a.kernel.empty() ? "kernel.comp" : a.kernel)
                        : std::optional<std::filesystem::path>(a.glsl);
  if (!glsl) {
    return Error{ErrorCode::kIo, "the dialect's folder 'glsl' was not found; name it with --glsl"};
  }
  out.glsl = *glsl;
  return out;
}

// `hung`: as run_kernel().
Result<Report> look(const Arguments& a, const Shared& shared, const Device& device, bool* hung) {
  DispatchRequest request;
  if (auto s = parse(a, &request); !s) return s.error();
  SubjectRequest subject_request;
  subject_request.kernel = a.kernel;
  subject_request.variant = a.variant;
  subject_request.glsl = shared.glsl;
  subject_request.manifests.assign(a.manifests.begin(), a.manifests.end());
  if (a.manifests.empty()) subject_request.manifests = usual_manifests(shared.glsl);
  for (const std::string& define : a.defines) {
    const std::size_t equal = std::min(define.find('='), define.size());
    subject_request.defines.emplace_back(define.substr(0, equal),
                                         equal == define.size() ? "1" : define.substr(equal + 1));
  }
  subject_request.local = request.local;
  subject_request.second = gen::second_folder(a.glslc);
  subject_request.message = say;
  const auto subject = load_subject(subject_request);
  if (!subject) return subject.error();
  auto report = look_at(*subject, request, shared.shape, shared.rates, device, hung);
  if (!report) {
    return Error{report.error().code, subject->name + ": " + report.error().message};
  }
  report->shape_source = shared.shape_source;
  return report;
}

int stop(const std::string& text, bool hung) {
  fail(text);
  if (hung) std::_Exit(1);  // the device would be waited for
  return 1;
}

int run(const Arguments& a) {
  // What is wrong with the command line is told before anything is compiled.
  DispatchRequest unused;
  if (auto s = parse(a, &unused); !s) return fail(s.error().message, 2);
  const auto shared = shared_of(a);
  if (!shared) return fail(shared.error().message);
  const auto device = open_any_device();
  if (!device) return fail(device.error().message);
  bool hung = false;
  const auto report = look(a, *shared, *device, &hung);
  if (!report) return stop(report.error().message, hung);
  if (!report->warning.empty()) warn(report->warning);
  if (!a.html.empty()) {
    if (auto s = tool::write_file(a.html, report_html(*report)); !s) return fail(s.error().message);
  }
  if (a.json || a.html.empty()) tool::print(a.json ? report_json(*report) : report_text(*report));
  return 0;
}

void add_options(CLI::App& app, Arguments& a);

// Each line of the file is the words of one call.
int run_cases(const Arguments& a) {
  const auto text = tool::read_file(a.cases, 1 << 20);
  if (!text) return fail(text.error().message);
  const auto shared = shared_of(a);
  if (!shared) return fail(shared.error().message);
  const auto device = open_any_device();
  if (!device) return fail(device.error().message);
  std::istringstream in(*text);
  std::string line, out;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    Arguments one;
    one.sample = 16;
    one.cases = a.cases;
    CLI::App app;
    add_options(app, one);
    try {
      app.parse(line);
    } catch (const CLI::ParseError& e) {
      return fail(fmt::format("{}:{}: error: {}", a.cases, number, e.what()));
    }
    bool hung = false;
    auto report = look(one, *shared, *device, &hung);
    if (!report) {
      return stop(fmt::format("{}:{}: error: {}", a.cases, number, report.error().message), hung);
    }
    if (report->figures.lost > 0) {
      return fail(fmt::format("{}:{}: error: {} accesses did not fit into the trace", a.cases,
                              number, report->figures.lost));
    }
    if (!report->warning.empty()) warn(fmt::format("{}:{}: {}", a.cases, number, report->warning));
    report->dispatch.label = line;
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
  app.add_option("KERNEL", a.kernel, "A kernel of the manifests, or a file that ends in .comp")
      ->check(tool::not_empty());
  app.add_option("--variant", a.variant, "fp32 (default), fp16s, fp16s_direct or the whole name")
      ->type_name("V");
  app.add_option("--groups", a.groups, "Workgroups of the dispatch (default: 1,1,1)")
      ->type_name("X,Y,Z");
  app.add_option("--local", a.local, "Local size, where the kernel leaves it open")
      ->type_name("X,Y,Z");
  app.add_option("--set", a.sets, "A specialization constant or push constant by name")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  app.add_option("--buffer", a.buffers, "Size of a buffer (default: 4M; uniforms 64K)")
      ->allow_extra_args(false)
      ->type_name("BINDING=BYTES");
  app.add_option("--image", a.images,
                 "Size, texels and filter of an image (default: 256x256, rgba32f, nearest)")
      ->allow_extra_args(false)
      ->type_name("BINDING=WxH[:TEXEL][:linear]");
  app.add_option("-D,--define", a.defines, "A macro, for a .comp")
      ->allow_extra_args(false)
      ->type_name("NAME[=VALUE]");
  app.add_option("--manifest", a.manifests, "Manifests or folders of them (default: the project's)")
      ->allow_extra_args(false)
      ->type_name("PATH");
  auto* profile = app.add_option("--device", a.profile, "A device profile: warps, sectors, banks")
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
  app.add_option("--records", a.records, "Room of the trace, in accesses (default: 4194304)")
      ->check(CLI::Range(1u, 1u << 27));
  app.add_option("--sample", a.sample, "Trace this many groups, evenly spread (default: all)");
  app.add_option("--timeout", a.timeout, "Seconds that the dispatch may take (default: 60)")
      ->check(CLI::Range(1u, 86400u));
  app.add_option("--seed", a.seed, "Of what buffers and images hold");
  app.add_option("--glsl", a.glsl, "The folder that holds dialect/")->type_name("FOLDER");
  app.add_option("--glslc", a.glslc, "Folder of a second compiler")->type_name("FOLDER");
  app.add_option("--html", a.html, "Write a page with a picture of each site there")
      ->type_name("FILE");
  app.add_flag("--json", a.json, "As JSON");
}

int main_of(int argc, char** argv) {
  Arguments a;
  CLI::App app{
      "How a kernel asks for memory: runs an instrumented form of it and reports each access.\n"
      "Exit status: 0 done, 1 an error, 2 a wrong command line."};
  app.name("spirkiln-access");
  app.set_version_flag("--version", "spirkiln-access " SPIRKILN_VERSION);
  app.footer(
      "Examples:\n"
      "  spirkiln access transpose_naive --groups 32,128 --set width=1024 --set height=1024\n"
      "  spirkiln access my.comp --variant fp16s --groups 64 --buffer 0=1M --html seen.html\n"
      "  spirkiln access gemm_nc --variant fp16s --local 8,8,4 --device "
      "variants/devices/h200.toml");
  add_options(app, a);
  auto* cases = app.add_option("--cases", a.cases,
                               "A file with the words of a dispatch a line: writes what each is "
                               "predicted to move, for spirkiln-access-bench")
                    ->type_name("FILE");
  app.add_option("-o,--output", a.output, "Of --cases (default: standard output)")
      ->needs(cases)
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return tool::print_help(app, e);
    return fail(fmt::format("{}\nTry 'spirkiln-access --help'.", e.what()), 2);
  }
  if (a.cases.empty() == a.kernel.empty()) {
    return fail("name a kernel, or a file of --cases\nTry 'spirkiln-access --help'.", 2);
  }
  return a.cases.empty() ? run(a) : run_cases(a);
}

}  // namespace

int main(int argc, char** argv) {
  return tool::run_program("spirkiln-access", main_of, argc, argv);
}
