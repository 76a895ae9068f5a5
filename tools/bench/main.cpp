// SPDX-License-Identifier: Apache-2.0
// spirkiln-bench: what a device can do, and measurements on it. Needs a Vulkan driver and, to
// measure, a packed graph.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "caps_report.hpp"
#include "cli_helpers.hpp"
#include "commands.hpp"
#include "graph_bench.hpp"
#include "matrix_bench.hpp"
#include "output_set.hpp"
#include "program.hpp"
#include "prove_bench.hpp"
#include "wish_options.hpp"

namespace {

using namespace spirkiln;
using namespace spirkiln::bench;

void print_text(const GraphBenchOptions& o, const std::vector<GraphBenchRow>& rows) {
  fmt::print("{} at {}x{}x{}, {} runs\n", o.pack, o.n, o.h, o.w, o.runs);
  fmt::print("{:8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>9} {:>10}\n", "form",
             "first ms", "median", "min", "p95", "gpu ms", "kernels", "cpu ms", "disp.", "MB",
             "max abs");
  for (const GraphBenchRow& r : rows) {
    if (!r.error.empty()) {
      fmt::print("{:8} {}\n", r.variant, r.error);
      continue;
    }
    fmt::print(
        "{:8} {:9.2f} {:9.3f} {:9.3f} {:9.3f} {:9.3f} {:9.3f} {:9.3f} {:6} {:9.1f} {:10.3g}\n",
        r.variant, r.first_ms, r.wall_ms, r.wall_min_ms, r.wall_p95_ms, r.gpu_ms, r.kernels_ms,
        r.cpu_ms, r.dispatches, static_cast<double>(r.device_bytes) / 1e6, r.max_abs);
  }
}

void print_json(const GraphBenchOptions& o, const DeviceInfo& device,
                const std::vector<GraphBenchRow>& rows) {
  fmt::print("{{\"device\": {:?}, \"n\": {}, \"h\": {}, \"w\": {}, \"runs\": {}, \"forms\": [",
             device.name, o.n, o.h, o.w, o.runs);
  const char* separator = "";
  for (const GraphBenchRow& r : rows) {
    fmt::print(
        "{}\n {{\"variant\": \"{}\", \"error\": {:?}, \"first_ms\": {:.3f}, \"wall_ms\": "
        "{:.4f}, \"wall_min_ms\": {:.4f}, \"wall_p95_ms\": {:.4f}, \"gpu_ms\": {:.4f}, "
        "\"kernels_ms\": {:.4f}, \"cpu_ms\": "
        "{:.4f}, "
        "\"dispatches\": {}, \"device_bytes\": {}, \"max_abs\": {:.6g}}}",
        separator, r.variant, r.error, r.first_ms, r.wall_ms, r.wall_min_ms, r.wall_p95_ms,
        r.gpu_ms, r.kernels_ms, r.cpu_ms, r.dispatches, r.device_bytes, r.max_abs);
    separator = ",";
  }
  fmt::print("\n]}}\n");
}

struct CapsArguments {
  std::string device;  // empty: all of them; for a profile, the one that the runtime would choose
  std::string profile;
  bool json = false;
};

int run_caps(const CapsArguments& arguments) {
  if (!arguments.profile.empty()) {
    if (auto s = tool::may_write(arguments.profile, {}); !s) return fail(s.error().message);
  }
  const auto instance = Instance::create(validation_in_environment(), say);
  if (!instance) return fail(instance.error().message);
  auto devices = find_devices(**instance);
  if (!devices) return fail(devices.error().message);
  if (!arguments.device.empty() || !arguments.profile.empty()) {
    const auto chosen = choose_device(*devices, device_options(arguments.device));
    if (!chosen) return fail(chosen.error().message);
    *devices = {(*devices)[*chosen]};
  }
  if (!arguments.profile.empty()) {
    const auto written = tool::write_file(arguments.profile, caps_profile(devices->front().caps));
    return written ? 0 : fail(written.error().message);
  }
  if (arguments.json) {
    tool::print(caps_json(*devices));
    return 0;
  }
  for (const FoundDevice& device : *devices) tool::print(caps_text(device.info.index, device.caps));
  return 0;
}

struct SweepArguments {
  std::vector<std::string> shapes;
  std::string device;
  std::uint32_t top = 5;
  bool json = false;
};

void print_sweep(const SweepArguments& arguments, const std::string& shape,
                 const std::vector<MatrixRow>& rows) {
  if (arguments.json) {
    std::string text = fmt::format("{{\"shape\": {:?}, \"tiles\": [", shape);
    const char* separator = "";
    for (const MatrixRow& r : rows) {
      text += fmt::format(
          "{}\n {{\"tile\": {:?}, \"us\": {:.3f}, \"tflops\": {:.3f}, \"error\": {:.3g}, "
          "\"refused\": {:?}}}",
          separator, r.tile, r.us, r.tflops, r.max_error, r.error);
      separator = ",";
    }
    tool::print(text + "\n]}\n");
    return;
  }
  std::string text = fmt::format("{}: {} tiles\n", shape, rows.size());
  std::uint32_t shown = 0;
  for (const MatrixRow& r : rows) {
    if (shown >= arguments.top && !r.baseline) continue;
    shown += r.baseline ? 0 : 1;
    text += r.error.empty() ? fmt::format("  {:9.2f} us {:7.2f} TFLOP/s  error {:.1e}  {}\n", r.us,
                                          r.tflops, r.max_error, r.tile)
                            : fmt::format("  {}: {}\n", r.tile, r.error);
  }
  tool::print(text);
}

int run_sweep(const SweepArguments& arguments) {
  std::vector<MatrixShapeOption> shapes;
  for (const std::string& text : arguments.shapes) {
    const auto shape = parse_matrix_shape(text);
    if (!shape) {
      return fail(
          fmt::format("'{}': expected HxWxC:KHxKWxN such as 60x60x192:1x1x192, at most 2^26 "
                      "numbers a tensor",
                      text),
          2);
    }
    shapes.push_back(*shape);
  }
  DeviceOptions wanted = device_options(arguments.device);
  wanted.backend = "vulkan";
  const auto device = Device::open(wanted);
  if (!device) return fail(device.error().message);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto rows = bench_matrix(*device, shapes[i]);
    if (!rows) return fail(rows.error().message);
    print_sweep(arguments, arguments.shapes[i], *rows);
  }
  return 0;
}

struct ProveArguments {
  std::string device;
  bool json = false;
};

// 1 where a kernel is wrong.
int run_prove(const ProveArguments& arguments) {
  DeviceOptions options = device_options(arguments.device);
  options.backend = "vulkan";
  const auto report = bench_proofs(options);
  if (!report) return fail(report.error().message);
  tool::print(arguments.json ? prove_json(*report) : prove_text(*report));
  return std::any_of(report->variants.begin(), report->variants.end(),
                     [](const ProvedVariant& v) { return v.finding.verdict == Verdict::kWrong; });
}

int run(int argc, char** argv) {
  CLI::App app("What Vulkan devices can do; packed graphs measured on them or on the CPU.");
  app.footer(
      "Examples:\n  spirkiln-bench caps\n  spirkiln-bench caps --device 0 --profile this.toml\n"
      "  spirkiln-bench graph det.spkm --shape 1x640x960 --runs 100\n"
      "  spirkiln-bench sweep 60x60x192:1x1x192 240x240x96:3x3x24\n"
      "  spirkiln-bench cold det.spkm --shape 1x640x640 --no-cache\n"
      "  spirkiln-bench cmp det.spkm --shape 1x96x96 --variant fp16s\n"
      "  spirkiln-bench layers det.spkm --shape 1x96x96 --node 17 --out values.f32\n"
      "  spirkiln-bench ab --a variant=fp32 --b variant=fp16s -- graph det.spkm --shape 1x640x640\n"
      "  spirkiln-bench conc det.spkm --shape 1x640x640 --threads 1,2,4\n"
#if SPIRKILN_BENCH_READS
      "  spirkiln-bench e2e pages --rounds 3 --json\n"
#endif
      "  spirkiln-bench prove\n"
      "  spirkiln-bench gemm 960 240 240\n"
      "  spirkiln-bench peak --json > peaks.json\n"
      "  spirkiln-bench prof det.spkm --shape 1x640x960 --peak peaks.json --top 20");
  app.set_version_flag("--version", "spirkiln-bench " SPIRKILN_VERSION);
  app.require_subcommand(1);
  std::string device_text, shape, backend = "vulkan";
  bool as_json = false;
  GraphBenchOptions options;
  CLI::App* graph = app.add_subcommand(
      "graph", "one graph at one shape in several forms, interleaved; results against the first");
  graph->add_option("PACK", options.pack, "the packed graph")->required()->check(tool::not_empty());
  graph->add_option("--shape", shape, "NxHxW of the pictures")->required();
  graph->add_option("--variant", options.variants, "forms to run (all five of buffers without)")
      ->check(CLI::IsMember(variant_names()));
  graph->add_option("--runs", options.runs, "timed runs of each form")
      ->check(CLI::Range(1, 100000));
  graph->add_option("--warm-ms", options.warm_ms, "untimed running before")
      ->check(CLI::Range(0, 60000));
  graph->add_option("--seed", options.seed, "of the picture");
  add_raw(graph, &options.raw);
  auto* best = graph->add_flag("--best-class", options.best_class,
                               "results are the best class of each position, found on the device");
  graph->add_flag("--bytes", options.bytes, "results are bytes, made on the device")
      ->excludes(best);
  graph->add_option("--device", device_text, "the device's index, or a part of its name");
  graph->add_option("--backend", backend, "vulkan or cpu")->check(CLI::IsMember({"vulkan", "cpu"}));
  graph->add_option("--threads", options.threads, "of the CPU backend")->check(CLI::Range(1, 1024));
  graph->add_flag("--json", as_json, "the same figures as one JSON object");
  tool::add_wish_options(*graph);
  CapsArguments caps;
  CLI::App* of_devices = app.add_subcommand(
      "caps", "features, limits, subgroups, matrices and float controls of each device");
  of_devices->add_option("--device", caps.device,
                         "only this one: its index, or a part of its name");
  CLI::Option* json = of_devices->add_flag("--json", caps.json, "the same as a JSON array");
  of_devices
      ->add_option(
          "--profile", caps.profile,
          "write a device profile there, for spirkiln check (one device: that of --device, "
          "or the one that the runtime chooses)")
      ->check(tool::not_empty())
      ->excludes(json);
  SweepArguments sweep;
  CLI::App* of_tiles = app.add_subcommand(
      "sweep", "a convolution with every tile of the matrix kernels, interleaved, warm");
  of_tiles
      ->add_option("SHAPE", sweep.shapes,
                   "HxWxC:KHxKWxN, the input, the window and the output's channels; stride 1")
      ->required();
  of_tiles->add_option("--top", sweep.top, "of the fastest tiles to print")
      ->check(CLI::Range(1, 10000));
  of_tiles->add_option("--device", sweep.device, "the device's index, or a part of its name");
  of_tiles->add_flag("--json", sweep.json, "all tiles, a JSON object a shape and line");
  Command chosen;
  add_cold(app, &chosen);
  add_ab(app, &chosen);
  add_cmp(app, &chosen);
  add_conc(app, &chosen);
#if SPIRKILN_BENCH_READS
  add_e2e(app, &chosen);
#endif
  add_gemm(app, &chosen);
  add_layers(app, &chosen);
  add_peak(app, &chosen);
  add_prof(app, &chosen);
  ProveArguments prove;
  CLI::App* of_proofs = app.add_subcommand(
      "prove", "every kernel that the device may run against its known answers, and the time");
  of_proofs->add_option("--device", prove.device, "the device's index, or a part of its name");
  of_proofs->add_flag("--json", prove.json, "every variant, as one JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return tool::print_help(app, e);
    return fail(fmt::format("{}\nTry spirkiln-bench --help.", e.what()), 2);
  }
  if (of_devices->parsed()) return run_caps(caps);
  if (of_tiles->parsed()) return run_sweep(sweep);
  if (of_proofs->parsed()) return run_prove(prove);
  if (chosen) return chosen();
  PictureShape pictures;
  if (!parse_shape(shape, &pictures)) return wrong_shape(shape);
  options.n = pictures.n;
  options.h = pictures.h;
  options.w = pictures.w;
  if (options.variants.empty()) {
    options.variants = {"fp32", "fp16p", "fp16pa", "fp16s", "fp16sa"};
    if (backend == "cpu") options.variants = {""};
  }
  DeviceOptions wanted = device_options(device_text);
  wanted.backend = backend;
  const auto device = Device::open(wanted);
  if (!device) return fail(device.error().message);
  const auto rows = bench_graph(*device, options, say);
  if (!rows) return fail(rows.error().message);
  if (as_json) {
    print_json(options, device->info(), *rows);
  } else {
    fmt::print("{} ({})\n", device->info().name, device->info().driver);
    print_text(options, *rows);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return tool::run_program("spirkiln-bench", run, argc, argv); }
