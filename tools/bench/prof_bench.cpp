// SPDX-License-Identifier: Apache-2.0
#include "prof_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include "cli_helpers.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "program.hpp"
#include "wish_options.hpp"

namespace spirkiln::bench {
namespace {

using Clock = std::chrono::steady_clock;

// The rate at which the step's arithmetic could be done, by what its variant multiplies with.
double peak_tflops(const StepTime& step, const Peaks& peaks) {
  if (step.kernel.ends_with("_coopmat") && peaks.matrix_tflops() > 0) return peaks.matrix_tflops();
  // fp16pa and fp16sa, in front of a kernel's own axes.
  const bool half = step.variant.find("_fp16pa") != std::string::npos ||
                    step.variant.find("_fp16sa") != std::string::npos;
  return half && peaks.fp16_tflops > 0 ? peaks.fp16_tflops : peaks.fp32_tflops;
}

struct Arguments {
  std::string pack, shape, variant, device, peak_file, raw;
  std::uint32_t repeats = 20, rounds = 10, top = 0, seed = 1;
  double warm_ms = 500;
  bool best_class = false, bytes = false, json = false;
};

Result<Peaks> peaks_for(const Arguments& arguments, const Device& device) {
  if (arguments.peak_file.empty()) return measure_peaks(device, {});
  auto peaks = read_peaks(arguments.peak_file);
  if (peaks && peaks->device != device.info().name) {
    say(Severity::kWarning, fmt::format("{} is of {}, this is {}", arguments.peak_file,
                                        peaks->device, device.info().name));
  }
  return peaks;
}

int run_prof(const Arguments& arguments) {
  PictureShape shape;
  if (!parse_shape(arguments.shape, &shape)) return wrong_shape(arguments.shape);
  DeviceOptions wanted = device_options(arguments.device);
  wanted.backend = "vulkan";
  const auto device = open_peak_device(wanted);
  if (!device) return fail(device.error().message);
  const auto model = Model::open(arguments.pack);
  if (!model) return fail(model.error().message);
  GraphOptions options;
  options.variant = arguments.variant;
  options.best_class = arguments.best_class;
  options.bytes = arguments.bytes;
  options.message = say;
  auto graph = Graph::create(*device, *model, options);
  if (!graph) return fail(graph.error().message);
  const auto bytes = picture_bytes(shape, arguments.seed, arguments.raw);
  if (!bytes) return fail(bytes.error().message);
  const Pictures pictures{shape.n, shape.h, shape.w, *bytes};

  ProfReport report;
  report.device = device->info().name;
  report.driver = device->info().driver;
  report.pack = arguments.pack;
  report.shape = arguments.shape;
  const auto begin = Clock::now();
  const auto warm = [&] {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count() >=
           arguments.warm_ms;
  };
  for (std::uint32_t run = 0; run < arguments.rounds || !warm(); ++run) {
    RunTimings timings;
    if (const auto outputs = graph->run(pictures, &timings); !outputs) {
      return fail(outputs.error().message);
    }
    const double us = 1e3 * timings.kernels_ms;
    report.run_us = run == 0 ? us : std::min(report.run_us, us);
  }
  const auto steps = graph->profile(pictures, arguments.repeats, arguments.rounds);
  if (!steps) return fail(steps.error().message);
  report.variant = graph->variant();
  const auto peaks = peaks_for(arguments, *device);
  if (!peaks) return fail(peaks.error().message);
  report.peaks = *peaks;
  add_rows(*steps, &report);
  tool::print(arguments.json ? prof_json(report) : prof_text(report, arguments.top));
  return 0;
}

std::string groups_of(const StepTime& s) {
  return fmt::format("{}x{}x{}", s.groups[0], s.groups[1], s.groups[2]);
}

}  // namespace

void add_rows(const std::vector<StepTime>& steps, ProfReport* report) {
  std::map<std::string, KernelSum> sums;
  for (const StepTime& step : steps) {
    ProfRow row;
    row.step = step;
    const Peaks& p = report->peaks;
    const double bytes_us =
        p.copy_gbs > 0
            ? static_cast<double>(step.bytes_read + step.bytes_written) / p.copy_gbs * 1e-3
            : 0;
    const double peak = peak_tflops(step, p);
    const double flop_us = peak > 0 ? step.flop / peak * 1e-6 : 0;
    row.by_bytes = bytes_us >= flop_us;
    row.floor_us = std::max(bytes_us, flop_us);
    row.of_roofline = step.us > 0 ? row.floor_us / step.us : 0;
    report->sum_us += step.us;
    report->floor_us += row.floor_us;
    KernelSum& sum = sums[step.kernel];
    sum.kernel = step.kernel;
    ++sum.dispatches;
    sum.us += step.us;
    sum.floor_us += row.floor_us;
    report->rows.push_back(std::move(row));
  }
  const double all = std::max(report->sum_us, 1e-9);
  for (ProfRow& row : report->rows) row.share = row.step.us / all;
  for (auto& [name, sum] : sums) {
    sum.share = sum.us / all;
    report->kernels.push_back(sum);
  }
  std::stable_sort(report->kernels.begin(), report->kernels.end(),
                   [](const KernelSum& a, const KernelSum& b) { return a.us > b.us; });
}

std::string prof_text(const ProfReport& r, std::size_t top) {
  std::string text =
      fmt::format("{} at {} in {} on {} ({})\n", r.pack, r.shape, r.variant, r.device, r.driver);
  text += fmt::format("{:>10} {:>6} {:>9} {:>9} {:>6} {:5} {:12} {}\n", "us", "share", "MB",
                      "MFLOP", "roof", "by", "groups", "kernel: node");
  std::vector<const ProfRow*> rows;
  for (const ProfRow& row : r.rows) rows.push_back(&row);
  if (top != 0) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const ProfRow* a, const ProfRow* b) { return a->step.us > b->step.us; });
    rows.resize(std::min(top, rows.size()));
  }
  for (const ProfRow* row : rows) {
    const StepTime& s = row->step;
    text += fmt::format(
        "{:10.2f} {:5.1f}% {:9.3f} {:9.3f} {:5.1f}% {:5} {:12} {}: {}\n", s.us, 100 * row->share,
        static_cast<double>(s.bytes_read + s.bytes_written) * 1e-6, s.flop * 1e-6,
        100 * row->of_roofline, row->by_bytes ? "bytes" : "flop", groups_of(s), s.variant, s.node);
  }
  text += "by kernel\n";
  for (const KernelSum& k : r.kernels) {
    text +=
        fmt::format("{:10.2f} {:5.1f}% {:5.1f}% of its roofline, {:4} dispatches of {}\n", k.us,
                    100 * k.share, k.us > 0 ? 100 * k.floor_us / k.us : 0, k.dispatches, k.kernel);
  }
  return text +
         fmt::format(
             "{} dispatches: {:.1f} us alone, {:.1f} by the roofline ({:.1f}%), {:.1f} at "
             "{:.2f} us each that waits; a whole run {:.1f}\n",
             r.rows.size(), r.sum_us, r.floor_us, r.sum_us > 0 ? 100 * r.floor_us / r.sum_us : 0,
             r.peaks.step_us * static_cast<double>(r.rows.size()), r.peaks.step_us, r.run_us);
}

std::string prof_json(const ProfReport& r) {
  std::string peaks = peaks_json(r.peaks);
  peaks.pop_back();  // its newline
  std::string text = fmt::format(
      "{{\"device\": {}, \"driver\": {}, \"pack\": {}, \"shape\": {}, \"variant\": {}, "
      "\"run_us\": {:.3f}, \"sum_us\": {:.3f}, \"floor_us\": {:.3f},\n\"peaks\": {},\n"
      "\"dispatches\": [",
      json::quoted(r.device), json::quoted(r.driver), json::quoted(r.pack), json::quoted(r.shape),
      json::quoted(r.variant), r.run_us, r.sum_us, r.floor_us, peaks);
  const char* separator = "";
  for (const ProfRow& row : r.rows) {
    const StepTime& s = row.step;
    text += fmt::format(
        "{}\n {{\"node\": {}, \"kernel\": {}, \"variant\": {}, \"groups\": [{}, {}, {}], \"us\": "
        "{:.3f}, \"share\": {:.5f}, \"bytes_read\": {}, \"bytes_written\": {}, \"flop\": {:.0f}, "
        "\"floor_us\": {:.4f}, \"bound\": \"{}\", \"of_roofline\": {:.5f}}}",
        separator, json::quoted(s.node), json::quoted(s.kernel), json::quoted(s.variant),
        s.groups[0], s.groups[1], s.groups[2], s.us, row.share, s.bytes_read, s.bytes_written,
        s.flop, row.floor_us, row.by_bytes ? "bytes" : "flop", row.of_roofline);
    separator = ",";
  }
  text += "\n],\n\"kernels\": [";
  separator = "";
  for (const KernelSum& k : r.kernels) {
    text += fmt::format(
        "{}\n {{\"kernel\": {}, \"dispatches\": {}, \"us\": {:.3f}, \"share\": {:.5f}, "
        "\"floor_us\": {:.4f}}}",
        separator, json::quoted(k.kernel), k.dispatches, k.us, k.share, k.floor_us);
    separator = ",";
  }
  return text + "\n]}\n";
}

void add_prof(CLI::App& app, Command* chosen) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* mode = app.add_subcommand(
      "prof", "every dispatch of a graph: time, share, bytes, operations, how near the roofline");
  mode->add_option("PACK", a->pack, "the packed graph")->required()->check(tool::not_empty());
  mode->add_option("--shape", a->shape, "NxHxW of the pictures")->required();
  mode->add_option("--variant", a->variant, "the form to run (without: as the runtime chooses)")
      ->check(CLI::IsMember(variant_names()));
  mode->add_option("--peak", a->peak_file,
                   "peaks, as peak --json prints them (without: measured first)")
      ->check(tool::not_empty());
  mode->add_option("--repeats", a->repeats, "of a dispatch in a row, between barriers")
      ->check(CLI::Range(1, 1000));
  mode->add_option("--rounds", a->rounds, "of the graph, the least of which counts")
      ->check(CLI::Range(1, 1000));
  mode->add_option("--top", a->top, "print so many of the longest (without: all, in their order)")
      ->check(CLI::Range(1, 100000));
  mode->add_option("--warm-ms", a->warm_ms, "untimed running before")->check(CLI::Range(0, 60000));
  mode->add_option("--seed", a->seed, "of the picture");
  add_raw(mode, &a->raw);
  auto* best = mode->add_flag("--best-class", a->best_class,
                              "results are the best class of each position, found on the device");
  mode->add_flag("--bytes", a->bytes, "results are bytes, made on the device")->excludes(best);
  mode->add_option("--device", a->device, "the device's index, or a part of its name");
  mode->add_flag("--json", a->json, "all of it as one JSON object");
  tool::add_wish_options(*mode);
  mode->callback([a, chosen] { *chosen = [a] { return run_prof(*a); }; });
}

}  // namespace spirkiln::bench
