// SPDX-License-Identifier: Apache-2.0
// spirkiln-lint: the rules of spirkiln-access over every kernel that graphs run, and over kernels
// of one's own.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "bake_load.hpp"
#include "cli_helpers.hpp"
#include "dispatch_words.hpp"
#include "graph_look.hpp"
#include "parallel.hpp"
#include "profile.hpp"
#include "program.hpp"
#include "second_compiler.hpp"
#include "shown.hpp"
#include "sizes.hpp"
#include "waivers.hpp"

namespace {

using namespace spirkiln;
using namespace spirkiln::access;

constexpr unsigned kMostDevices = 4;

struct Arguments {
  std::vector<std::string> graphs, shapes, variants;
  std::string profile, waivers, glsl, table, cases;
  std::uint32_t sample = 4;
  bool quick = false, sites = false;
};

int fail(const std::string& text, int code = 1) {
  if (text.find(": error: ") != std::string::npos) {
    fmt::print(stderr, "{}\n", text);
  } else {
    fmt::print(stderr, "spirkiln-lint: error: {}\n", text);
  }
  return code;
}

struct Sum {
  std::uint32_t dispatches = 0;
  double asked = 0, moved = 0, ideal = 0;
  double bank_steps = 0, bank_parts = 0;

  double packing() const { return moved > 0 ? ideal / moved : 1; }
  double conflict() const { return bank_parts > 0 ? bank_steps / bank_parts : 1; }
};

// A finding, with how much it costs, once for all dispatches that have it.
struct Finding {
  std::string variant;  // the first that has it
  bool of_sectors = false;  // told by how little of what is moved is needed
  bool of_banks = false;
  std::string place, line, text;
  double extra = 0;  // bytes moved beyond the ideal, over the graphs
  std::uint32_t dispatches = 0;
};
using FindingKey = std::tuple<std::string, std::string, std::string>;  // kernel, rule, line

class Lint {
 public:
  explicit Lint(std::vector<Waiver> waivers) : waivers_(std::move(waivers)) {}

  void add(const GraphLook& look) {
    for (const DispatchLook& d : look.dispatches) add(d);
    for (const std::string& why : look.not_seen) not_seen_.push_back(why);
  }

  void add(const DispatchLook& d) {
    const Figures& f = d.report.figures;
    const double scale = f.scale() * d.times;
    Sum& sum = kernels_[d.variant];
    sum.dispatches += d.times;
    for (Sum* s : {&sum, &total_}) {
      s->asked += static_cast<double>(f.asked) * scale;
      s->moved += static_cast<double>(f.moved) * scale;
      s->ideal += static_cast<double>(f.ideal) * scale;
    }
    for (const SiteFigures& s : f.sites) {
      sum.bank_steps += static_cast<double>(s.bank_steps) * scale;
      sum.bank_parts += static_cast<double>(s.bank_parts) * scale;
    }
    for (const Advice& a : d.report.advice) {
      if (a.fault) add_finding(d, a, scale);
    }
    for (const Untraced& u : d.report.untraced) {
      not_seen_.push_back(fmt::format("{}:{}: {}", u.file, u.line, u.why));
    }
    if (!d.report.warning.empty()) not_seen_.push_back(d.variant + ": " + d.report.warning);
    if (f.lost > 0) {
      not_seen_.push_back(
          fmt::format("{}: {} of {} accesses kept", d.variant, f.records, f.records + f.lost));
    }
  }

  int report() {
    std::string text = fmt::format("{:38} {:>10} {:>14} {:>14} {:>7} {:>6}\n", "kernel",
                                   "dispatches", "bytes moved", "at best", "", "banks");
    for (const auto& [name, s] : kernels_) {
      text += fmt::format("{:38} {:>10} {:>14.0f} {:>14.0f} {:>6.1f}% {:>6.2f}\n", name,
                          s.dispatches, s.moved, s.ideal, s.packing() * 100, s.conflict());
    }
    text += fmt::format("{:38} {:>10} {:>14.0f} {:>14.0f} {:>6.1f}%: moved {:.3f} x the best\n",
                        "all", "", total_.moved, total_.ideal, total_.packing() * 100,
                        total_.ideal > 0 ? total_.moved / total_.ideal : 1.0);
    std::size_t left = 0;
    for (const auto& [key, f] : findings_) {
      const auto& [kernel, rule, line] = key;
      const std::string dispatches =
          fmt::format("{} dispatch{}", f.dispatches, f.dispatches == 1 ? "" : "es");
      // One site of a kernel that is good on the whole costs little.
      const Sum& whole = kernels_.at(f.variant);
      if ((f.of_sectors && whole.packing() >= kLeastPacking) ||
          (f.of_banks && whole.conflict() <= kMostConflict)) {
        text += fmt::format(
            "\n{}: small [{}] {}, {:.0f} bytes beyond the best, in a "
            "kernel that is good on the whole\n",
            f.place, rule, dispatches, f.extra);
        continue;
      }
      const Waiver* waiver = find_waiver(waivers_, kernel, rule, line);
      left += waiver == nullptr;
      text += fmt::format("\n{}: {} [{}] {} ({}, {:.0f} bytes beyond the best)\n    {}\n", f.place,
                          waiver == nullptr ? "fault" : "waived", rule, f.text, dispatches, f.extra,
                          line);
      if (waiver != nullptr) text += "    because " + waiver->reason + "\n";
    }
    for (const std::string& why : not_seen_) text += "\nnot seen: " + why + "\n";
    std::size_t unused = 0;
    for (const Waiver& w : waivers_) {
      if (w.used) continue;
      ++unused;
      text +=
          fmt::format("\nunused waiver: {} [{}] {}\n", w.kernel, fmt::join(w.rules, "] ["), w.line);
    }
    tool::print(text);
    tool::flush();
    if (left > 0)
      return fail(fmt::format("{} finding{} without a waiver", left, left == 1 ? "" : "s"));
    if (!not_seen_.empty()) return fail("not everything was seen");
    if (unused > 0) return fail("a waiver covers nothing: take it out");
    return 0;
  }

 private:
  void add_finding(const DispatchLook& d, const Advice& a, double scale) {
    const Figures& f = d.report.figures;
    const bool whole = a.site >= f.sites.size();
    const std::string line = whole ? std::string() : d.report.texts[a.site];
    Finding& finding = findings_[{d.kernel, std::string(a.rule), line}];
    if (finding.text.empty()) {
      finding.text = a.text;
      finding.variant = d.variant;
      finding.of_banks = a.rule == "pad-row";
      finding.of_sectors = !whole && !finding.of_banks && a.rule != "in-bounds";
      finding.place =
          whole ? d.variant
                : fmt::format("{}:{}", f.sites[a.site].site.file, f.sites[a.site].site.line);
    }
    finding.dispatches += d.times;
    if (!whole) {
      const SiteFigures& s = f.sites[a.site];
      finding.extra += static_cast<double>(s.sectors - s.ideal_sectors) * f.shape.sector * scale;
    }
  }

  std::vector<Waiver> waivers_;
  std::map<std::string, Sum> kernels_;
  std::map<FindingKey, Finding> findings_;
  std::vector<std::string> not_seen_;
  Sum total_;
};

void say(Severity severity, std::string_view text) {
  if (severity != Severity::kInfo) fmt::print(stderr, "spirkiln-lint: {}\n", text);
}

Result<std::vector<Device>> open_devices(bool graphs) {
  DeviceOptions options;
  options.message = say;
  std::vector<Device> devices;
  // A CPU's driver compiles in one thread of each device.
  for (unsigned wanted = 1; devices.size() < wanted;) {
    auto device = open_device(options, Error{ErrorCode::kInvalidArgument, "no table"});
    if (!device) return std::move(device).error();
    devices.push_back(*std::move(device));
    if (graphs && devices.front().info().type == "cpu")
      wanted = std::min(gen::processor_count(), kMostDevices);
  }
  return devices;
}

void print_sites(const DispatchLook& d) {
  tool::print(fmt::format("{} times ", d.times) + report_text(d.report) + "\n");
}

// 0, or the exit status.
int look_at_cases(const Arguments& a, const std::vector<Case>& cases, const Setting& setting,
                  const Device& device, Lint* lint) {
  for (const Case& one : cases) {
    bool hung = false;
    auto report = look_at_words(one.words, one.request, setting, device, &hung);
    if (!report) {
      fail(fmt::format("{}: error: {}", one.place, report.error().message));
      if (hung) std::_Exit(1);
      return 1;
    }
    if (!report->warning.empty()) report->warning = one.place + ": " + report->warning;
    const std::string variant = report->kernel;
    const DispatchLook d{one.words.kernel_name(), variant, 1, *std::move(report)};
    if (a.sites) print_sites(d);
    lint->add(d);
  }
  return 0;
}

int look_at_graphs(const Arguments& a, const std::vector<InputShape>& shapes,
                   const DeviceCaps& caps, const Setting& setting,
                   const std::vector<Device>& devices, Lint* lint) {
  const auto table = open_table(a.table);
  if (!table) return fail(table.error().message);
  const SubjectOf subject = [&](const std::string& kernel, const std::string& variant) {
    SubjectRequest request;
    request.kernel = kernel;
    request.variant = variant;
    request.glsl = setting.glsl;
    request.manifests = usual_manifests(setting.glsl);
    request.second = gen::second_folder("");
    return load_subject(request);
  };
  const std::vector<std::string> variants =
      a.variants.empty() ? std::vector<std::string>{""} : a.variants;
  for (std::size_t g = 0; g < a.graphs.size(); ++g) {
    for (const std::string& variant : variants) {
      GraphRequest request{a.graphs[g], shapes[g], variant, a.sample, a.quick};
      bool hung = false;
      const auto look =
          look_at_graph(request, *table, caps, setting.shape, devices, subject, &hung);
      if (!look) {
        fail(fmt::format("{}: {}", a.graphs[g], look.error().message));
        if (hung) std::_Exit(1);
        return 1;
      }
      if (a.sites) {
        for (const DispatchLook& d : look->dispatches) print_sites(d);
      }
      lint->add(*look);
    }
  }
  return 0;
}

int run(const Arguments& a) {
  if (a.graphs.empty() && a.cases.empty()) {
    return fail("name a --graph with its --shape, or a file of --cases", 2);
  }
  if (a.shapes.size() != a.graphs.size()) {
    return fail("as many --shape as --graph, in the same order", 2);
  }
  std::vector<InputShape> shapes;
  for (const std::string& text : a.shapes) {
    const auto s = tool::parse_sizes<3>(text);
    if (!s) {
      return fail(fmt::format("--shape '{}': expected NxHxW, each at least 1", tool::shown(text)),
                  2);
    }
    shapes.push_back({(*s)[0], (*s)[1], (*s)[2]});
  }
  const auto profile = check::load_profile(a.profile);
  if (!profile) return fail(profile.error().message);
  std::vector<Waiver> waivers;
  if (!a.waivers.empty()) {
    auto loaded = load_waivers(a.waivers);
    if (!loaded) return fail(loaded.error().message);
    waivers = *std::move(loaded);
  }
  std::vector<Case> cases;
  if (!a.cases.empty()) {
    auto loaded = load_cases(a.cases, {});
    if (!loaded) return fail(loaded.error().message);
    cases = *std::move(loaded);
  }
  const auto glsl = a.glsl.empty() ? gen::find_glsl_folder("kernel.comp")
                                   : std::optional<std::filesystem::path>(a.glsl);
  if (!glsl) return fail("the dialect's folder 'glsl' was not found; name it with --glsl");
  const auto devices = open_devices(!a.graphs.empty());
  if (!devices) return fail(devices.error().message);
  const auto& m = profile->memory;
  const std::uint32_t warp = profile->caps.subgroup_size;
  Setting setting;
  setting.shape = {warp == 0 ? 32 : warp, m.sector_bytes, m.line_bytes, m.shared_banks};
  setting.shape_source = profile->caps.name;
  setting.glsl = *glsl;
  setting.message = say;
  Lint lint(std::move(waivers));
  if (!a.graphs.empty()) {
    const int status = look_at_graphs(a, shapes, profile->caps, setting, *devices, &lint);
    if (status != 0) return status;
  }
  const int status = look_at_cases(a, cases, setting, devices->front(), &lint);
  return status != 0 ? status : lint.report();
}

int main_of(int argc, char** argv) {
  Arguments a;
  CLI::App app{
      "Runs the dispatches of graphs, and of kernels of your own, in an instrumented form and "
      "fails "
      "on accesses that waste memory.\n"
      "Exit status: 0 none, 1 some, or an error, 2 a wrong command line."};
  app.name("spirkiln-lint");
  app.set_version_flag("--version", "spirkiln-lint " SPIRKILN_VERSION);
  app.footer(
      "Example:\n  spirkiln lint --graph build/tools/packs/rec.spkm --shape 1x48x320 \\\n"
      "    --device variants/devices/h200.toml --waivers variants/access-waivers.toml\n"
      "  spirkiln lint --cases my-kernels.txt --device variants/devices/h200.toml");
  app.add_option("--graph", a.graphs, "A packed graph; once for each")
      ->allow_extra_args(false)
      ->type_name("PACK.spkm");
  app.add_option("--shape", a.shapes, "Of its picture")
      ->allow_extra_args(false)
      ->type_name("NxHxW");
  app.add_option("--cases", a.cases,
                 "Kernels of your own: a file with a kernel and its options a line, as 'spirkiln "
                 "access' takes them")
      ->check(tool::not_empty())
      ->type_name("FILE");
  app.add_option("--device", a.profile, "A device profile: which kernels, warps, sectors, banks")
      ->required()
      ->check(tool::not_empty())
      ->type_name("FILE.toml");
  app.add_option("--variant", a.variants, "Forms of the kernels (default: the device's best)")
      ->type_name("V...");
  app.add_option("--waivers", a.waivers, "Findings that stay, with reasons")
      ->type_name("FILE.toml");
  app.add_option("--table", a.table, "A baked table (default: the built-in kernels)")
      ->type_name("FILE");
  app.add_option("--glsl", a.glsl, "The folder that holds dialect/")->type_name("FOLDER");
  app.add_option("--sample", a.sample,
                 "Groups of each dispatch of graphs that are traced (default: 4)")
      ->check(CLI::Range(1u, 1u << 20));
  app.add_flag("--quick", a.quick, "Of the dispatches of one pipeline, only the first");
  app.add_flag("--sites", a.sites, "Print every dispatch's report");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return tool::print_help(app, e);
    return fail(fmt::format("{}\nTry 'spirkiln-lint --help'.", e.what()), 2);
  }
  return run(a);
}

}  // namespace

int main(int argc, char** argv) { return tool::run_program("spirkiln-lint", main_of, argc, argv); }
