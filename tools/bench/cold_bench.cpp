// SPDX-License-Identifier: Apache-2.0
// spirkiln-bench cold: from the start of the process to the first result, in its parts.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#if !defined(_WIN32)
#include <unistd.h>
#endif

#include "cli_helpers.hpp"
#include "clock.hpp"
#include "commands.hpp"
#include "graph/pipelines.hpp"
#include "program.hpp"
#include "wish_options.hpp"

namespace spirkiln::bench {
namespace {

// From the start of this process to now, in steps of a clock tick (10 ms); negative where the
// system does not say. Field 22 of proc(5)'s stat, behind the name, which may hold anything.
double process_ms() {
#if defined(__linux__)
  std::ifstream stat("/proc/self/stat"), uptime("/proc/uptime");
  std::string line;
  double up = 0;
  if (!std::getline(stat, line) || !(uptime >> up) || line.rfind(')') == line.npos) return -1;
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  const double started = std::strtod(field.c_str(), nullptr);
  return 1e3 * (up - started / static_cast<double>(sysconf(_SC_CLK_TCK)));
#else
  return -1;
#endif
}

struct Arguments {
  std::string pack, shape, variant, device, raw, backend = "vulkan";
  bool no_cache = false, json = false;
};

struct Part {
  const char* name;
  double ms;
  std::string note;
};

int run_cold(const Arguments& arguments) {
  const double before = process_ms();
  const auto start = Clock::now();
  PictureShape shape;
  if (!parse_shape(arguments.shape, &shape)) return wrong_shape(arguments.shape);
  if (arguments.no_cache) {
    // Ours, Mesa's and NVIDIA's: read when the first driver is loaded.
    for (const char* name : {"SPIRKILN_NO_CACHE", "MESA_SHADER_CACHE_DISABLE"}) {
      setenv(name, "1", 1);
    }
    setenv("__GL_SHADER_DISK_CACHE", "0", 1);
  }
  std::vector<Part> parts;
  auto begin = Clock::now();
  const auto done = [&](const char* name, std::string note = {}) {
    parts.push_back({name, ms_since(begin), std::move(note)});
    begin = Clock::now();
  };

  DeviceOptions options = device_options(arguments.device);
  options.backend = arguments.backend;
  const auto device = Device::open(options);
  if (!device) return fail(device.error().message);
  done("instance and device", device->info().name);
  if (device->state() != nullptr) {
    const auto table = open_table();
    if (!table) return fail(table.error().message);
    done("table", table->origin());
  }
  const auto model = Model::open(arguments.pack);
  if (!model) return fail(model.error().message);
  done("model");
  GraphOptions graph_options;
  graph_options.variant = arguments.variant;
  graph_options.message = say;
  auto graph = Graph::create(*device, *model, graph_options);
  if (!graph) return fail(graph.error().message);
  done("weights");
  const auto bytes = picture_bytes(shape, 1, arguments.raw);
  if (!bytes) return fail(bytes.error().message);
  begin = Clock::now();
  RunTimings timings;
  const auto outputs = graph->run({shape.n, shape.h, shape.w, *bytes}, &timings);
  if (!outputs) return fail(outputs.error().message);
  const double run_ms = ms_since(begin);
  PipelineStats pipelines;
  if (device->state() != nullptr) pipelines = device->state()->pipelines->stats();
  parts.push_back({"pipelines", pipelines.create_ms, fmt::format("{} made", pipelines.created)});
  parts.push_back({"plan and recording", std::max(0.0, timings.plan_ms - pipelines.create_ms),
                   fmt::format("{} steps", timings.dispatches)});
  parts.push_back({"first run", run_ms - timings.plan_ms,
                   fmt::format("{:.2f} ms on the device", timings.gpu_ms)});
  const double total = (before > 0 ? before : 0) + ms_since(start);

  begin = Clock::now();
  if (const auto again = graph->run({shape.n, shape.h, shape.w, *bytes}); !again) {
    return fail(again.error().message);
  }
  const double second = ms_since(begin);
  if (arguments.json) {
    std::string text = fmt::format("{{\"device\": {:?}, \"before_main_ms\": {:.1f}, \"parts\": [",
                                   device->info().name, before);
    const char* separator = "";
    for (const Part& p : parts) {
      text += fmt::format("{}\n {{\"name\": {:?}, \"ms\": {:.3f}, \"note\": {:?}}}", separator,
                          p.name, p.ms, p.note);
      separator = ",";
    }
    tool::print(text +
                fmt::format("\n], \"first_result_ms\": {:.1f}, \"second_run_ms\": {:.3f}}}\n",
                            total, second));
    return 0;
  }
  std::string text;
  if (before >= 0) text += fmt::format("{:>10.1f} ms  before main\n", before);
  for (const Part& p : parts) {
    text += fmt::format("{:>10.2f} ms  {}{}\n", p.ms, p.name,
                        p.note.empty() ? "" : " (" + p.note + ")");
  }
  tool::print(text + fmt::format("{:>10.1f} ms  from the start of the process to the first result\n"
                                 "{:>10.2f} ms  second run\n",
                                 total, second));
  return 0;
}

}  // namespace

void add_cold(CLI::App& app, Command* chosen) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* mode =
      app.add_subcommand("cold", "from the start of the process to the first result, in its parts");
  mode->add_option("PACK", a->pack, "the packed graph")->required()->check(tool::not_empty());
  mode->add_option("--shape", a->shape, "NxHxW of the pictures")->required();
  mode->add_option("--variant", a->variant, "the form to run (without: as the runtime chooses)")
      ->check(CLI::IsMember(variant_names()));
  mode->add_option("--device", a->device, "the device's index, or a part of its name");
  mode->add_option("--backend", a->backend, "vulkan or cpu")
      ->check(CLI::IsMember({"vulkan", "cpu"}));
  add_raw(mode, &a->raw);
  mode->add_flag("--no-cache", a->no_cache,
                 "without any cache on disk: this library's, Mesa's, NVIDIA's");
  mode->add_flag("--json", a->json, "the same figures as one JSON object");
  tool::add_wish_options(*mode);
  mode->callback([a, chosen] { *chosen = [a] { return run_cold(*a); }; });
}

}  // namespace spirkiln::bench
