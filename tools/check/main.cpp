// SPDX-License-Identifier: Apache-2.0
// spirkiln-check: may these graphs run on those devices? No device and no driver is needed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli_helpers.hpp"
#include "explain.hpp"
#include "graph/plan.hpp"
#include "program.hpp"
#include "report.hpp"
#include "shown.hpp"
#include "sizes.hpp"
#include "table/device_rules.hpp"

namespace {

using namespace spirkiln;
using namespace spirkiln::check;

struct Arguments {
  std::vector<std::string> devices, graphs, shapes, kernels, axes;
  std::string table, variant, forms;
  bool json = false;
};

int fail(const std::string& text, int code = 1) {
  // Messages about profiles carry their own position, as compilers write them.
  if (text.find(": error: ") != std::string::npos) {
    fmt::print(stderr, "{}\n", text);
  } else {
    fmt::print(stderr, "spirkiln-check: error: {}\n", text);
  }
  return code;
}

int explain(const Arguments& arguments, const std::vector<DeviceReport>& devices,
            const Table& table) {
  const auto which = arguments.forms == "graph" ? ExplainedForms::kOfGraphs
                     : arguments.forms == "all" ? ExplainedForms::kAll
                                                : ExplainedForms::kByKernel;
  std::vector<DeviceExplanation> all;
  for (const DeviceReport& d : devices) {
    auto explained = explain_kernels(d.device, table, arguments.kernels, arguments.axes,
                                     arguments.variant, which);
    if (!explained) return fail(explained.error().message);
    all.push_back(*std::move(explained));
  }
  tool::print(arguments.json ? explanation_json(all) : explanation_text(all));
  // 'all' is a list, and some kernels are made for few devices.
  const auto& names = arguments.kernels;
  const std::size_t none = without_variant(all);
  if (none == 0 || std::find(names.begin(), names.end(), "all") != names.end()) return 0;
  return fail(fmt::format("{} of {} (kernels on devices) have no variant that may run", none,
                          all.size() * names.size()));
}

int run(const Arguments& arguments) {
  std::vector<InputShape> shapes;
  for (const std::string& text : arguments.shapes) {
    const auto shape = tool::parse_sizes<3>(text);
    if (!shape) {
      return fail(fmt::format("--shape '{}': expected NxHxW, each at least 1", tool::shown(text)),
                  2);
    }
    shapes.push_back({(*shape)[0], (*shape)[1], (*shape)[2]});
  }
  if (const auto forms = choose_forms(arguments.variant, {}); !forms) {
    return fail("--variant: " + forms.error().message, 2);
  }
  std::vector<DeviceReport> reports;
  for (const std::string& path : arguments.devices) {
    auto profile = load_profile(path);
    if (profile) {
      reports.push_back({*std::move(profile), {}});
    } else {
      fail(profile.error().message);
    }
  }
  if (reports.size() != arguments.devices.size()) return 1;
  const auto table = arguments.table.empty() ? open_table() : Table::from_file(arguments.table);
  if (!table) return fail(tool::with_shown(table.error().message, arguments.table));
  if (!arguments.kernels.empty()) return explain(arguments, reports, *table);

  std::size_t checks = 0, failures = 0;
  for (const std::string& path : arguments.graphs) {
    const auto model = Model::open(path);
    if (!model) return fail(tool::with_shown(model.error().message, path));
    std::vector<InputShape> graph_shapes = shapes;
    if (graph_shapes.empty()) {
      auto usual = usual_shapes(*model->state());
      if (!usual) return fail(usual.error().message);
      graph_shapes = *std::move(usual);
    }
    for (DeviceReport& report : reports) {
      const DeviceCaps& caps = report.device.caps;
      const auto rules = select_rules(*table, caps);
      if (!rules) return fail(rules.error().message);
      auto graph =
          check_graph(*model->state(), graph_shapes, *table, caps, *rules, arguments.variant);
      if (!graph) return fail(tool::shown(path) + ": " + graph.error().message);
      ++checks;
      failures += graph->ok() ? 0 : 1;
      report.graphs.push_back(*std::move(graph));
    }
  }
  const std::string text = arguments.json ? report_json(reports) : report_text(reports);
  tool::print(text);
  if (failures != 0) {
    return fail(fmt::format("{} of {} (graphs on devices) cannot run", failures, checks));
  }
  return 0;
}

int main_of(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{
      "Checks that graphs may run on devices that are not here, from device profiles.\n"
      "With --explain: which variant of a kernel runs there, and why no other.\n"
      "Exit status: 0 all may (with --explain: each named kernel has a variant, or 'all' are\n"
      "listed), 1 some may not or a file is wrong, 2 a wrong command line."};
  app.name("spirkiln-check");
  app.set_version_flag("--version", "spirkiln-check " SPIRKILN_VERSION);
  app.footer(
      "Examples:\n"
      "  spirkiln check --device variants/devices/*.toml --graph build/tools/packs/*.spkm\n"
      "  spirkiln check --device my-phone.toml --graph det.spkm --shape 1x640x960 --json\n"
      "  spirkiln check --device my-phone.toml --explain gemm_nc softmax");
  app.add_option("--device", arguments.devices, "Device profiles")
      ->required()
      ->check(tool::not_empty())
      ->type_name("FILE.toml...");
  auto* graphs = app.add_option("--graph", arguments.graphs, "Packed graphs")
                     ->check(tool::not_empty())
                     ->type_name("PACK.spkm...");
  auto* explained = app.add_option("--explain", arguments.kernels,
                                   "Kernels whose variants are explained, or 'all'")
                        ->check(tool::not_empty())
                        ->excludes(graphs)
                        ->type_name("KERNEL...");
  app.add_option("--axis", arguments.axes,
                 "What the caller of these kernels asks for (default: their defaults)")
      ->needs(explained)
      ->type_name("AXIS=VALUE...");
  app.add_option(
         "--forms", arguments.forms,
         "With --explain: 'graph', the forms that graphs take, or 'all' on buffers, as single "
         "kernels are chosen (default: 'graph' for the built-in kernels, 'all' for others)")
      ->needs(explained)
      ->check(CLI::IsMember({"graph", "all"}))
      ->type_name("F");
  app.add_option("--shape", arguments.shapes,
                 "Pictures x height x width (default: the usual shapes that a graph takes)")
      ->type_name("NxHxW...");
  app.add_option("--table", arguments.table,
                 "A baked table (default: $SPIRKILN_TABLE, else the built-in kernels)")
      ->type_name("FILE");
  app.add_option("--variant", arguments.variant,
                 "Only this form of each kernel (default: what the runtime would take)")
      ->type_name("V");
  app.add_flag("--json", arguments.json, "As JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return tool::print_help(app, e);
    fmt::print(stderr, "spirkiln-check: error: {}\nTry 'spirkiln-check --help'.\n", e.what());
    return 2;
  }
  if (arguments.graphs.empty() && arguments.kernels.empty()) {
    fmt::print(stderr,
               "spirkiln-check: error: --graph or --explain is required\nTry "
               "'spirkiln-check --help'.\n");
    return 2;
  }
  return run(arguments);
}

}  // namespace

int main(int argc, char** argv) { return tool::run_program("spirkiln-check", main_of, argc, argv); }
