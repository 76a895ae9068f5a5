// SPDX-License-Identifier: Apache-2.0
// spirkiln-bench peak.
#include <memory>

#include "commands.hpp"
#include "peaks.hpp"
#include "program.hpp"

namespace spirkiln::bench {
namespace {

struct Arguments {
  std::string device;
  PeakOptions options;
  bool json = false;
};

int run_peak(const Arguments& arguments) {
  DeviceOptions wanted = device_options(arguments.device);
  wanted.backend = "vulkan";
  const auto device = open_peak_device(wanted);
  if (!device) return fail(device.error().message);
  const auto peaks = measure_peaks(*device, arguments.options);
  if (!peaks) return fail(peaks.error().message);
  tool::print(arguments.json ? peaks_json(*peaks) : peaks_text(*peaks));
  return 0;
}

}  // namespace

void add_peak(CLI::App& app, Command* chosen) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* mode = app.add_subcommand(
      "peak", "what the device reaches at most: multiply-adds, matrices, copies, workgroup memory");
  mode->add_option("--device", a->device, "the device's index, or a part of its name");
  mode->add_option("--ms", a->options.ms, "that a dispatch of arithmetic takes at least")
      ->check(CLI::Range(0.001, 200.0));
  mode->add_option("--warm-ms", a->options.warm_ms, "untimed running before")
      ->check(CLI::Range(0, 60000));
  mode->add_option("--runs", a->options.runs, "of each, the best of which counts")
      ->check(CLI::Range(1, 1000));
  mode->add_option("--copy-mib", a->options.copy_mib, "of the buffer that is copied")
      ->check(CLI::Range(1, 4096));
  mode->add_flag("--json", a->json, "the same as one JSON object, for --peak of prof");
  mode->callback([a, chosen] { *chosen = [a] { return run_peak(*a); }; });
}

}  // namespace spirkiln::bench
