// SPDX-License-Identifier: Apache-2.0
#include "graph_bench.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <utility>

#include "clock.hpp"
#include "commands.hpp"
#include "statistics.hpp"

namespace spirkiln::bench {
namespace {

double processor_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Form {
  GraphBenchRow row;
  std::optional<Graph> graph;
  std::vector<double> wall, gpu, cpu, kernels;
  TensorF32 result;
};

Status first_run(Form& form, const Device& device, const Model& model, const Pictures& pictures,
                 const GraphBenchOptions& wanted, const MessageCallback& message) {
  GraphOptions options;
  options.variant = form.row.variant;
  options.threads = wanted.threads;
  options.best_class = wanted.best_class;
  options.bytes = wanted.bytes;
  options.message = message;
  const auto start = Clock::now();
  auto graph = Graph::create(device, model, options);
  if (!graph) return std::move(graph).error();
  RunTimings timings;
  auto outputs = graph->run(pictures, &timings);
  if (!outputs) return std::move(outputs).error();
  form.row.first_ms = ms_since(start);
  form.row.dispatches = timings.dispatches;
  form.row.variant = graph->variant();
  form.result = std::move(outputs->front());
  form.graph = std::move(*graph);
  return Ok{};
}

Status timed_run(Form& form, const Pictures& pictures, bool bytes, bool keep) {
  RunTimings timings;
  const double processor = processor_ms();
  const auto start = Clock::now();
  if (bytes) {
    auto outputs = form.graph->run_bytes(pictures, &timings);
    if (!outputs) return std::move(outputs).error();
  } else {
    auto outputs = form.graph->run(pictures, &timings);
    if (!outputs) return std::move(outputs).error();
  }
  if (keep) {
    form.cpu.push_back(processor_ms() - processor);
    form.wall.push_back(ms_since(start));
    form.gpu.push_back(timings.gpu_ms);
    form.kernels.push_back(timings.kernels_ms);
  }
  return Ok{};
}

double max_abs_difference(const TensorF32& a, const TensorF32& b) {
  if (a.values.size() != b.values.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double d = std::abs(double{a.values[i]} - double{b.values[i]});
    // A NaN compares false to everything: it must not pass for equality.
    if (!(d <= worst)) worst = d;
    if (std::isnan(d)) return d;
  }
  return worst;
}

}  // namespace

Result<std::vector<GraphBenchRow>> bench_graph(const Device& device,
                                               const GraphBenchOptions& options,
                                               const MessageCallback& message) {
  auto model = Model::open(options.pack);
  if (!model) return std::move(model).error();
  const auto bytes = picture_bytes({options.n, options.h, options.w}, options.seed, options.raw);
  if (!bytes) return bytes.error();
  const Pictures pictures{options.n, options.h, options.w, *bytes};

  std::vector<Form> forms;
  for (const std::string& variant : options.variants) {
    Form& form = forms.emplace_back();
    form.row.variant = variant;
    const Status status = first_run(form, device, *model, pictures, options, message);
    if (!status && forms.size() == 1) return status.error();
    if (!status) form.row.error = status.error().message;
  }
  // One round after the other, so that clocks and heat meet all forms alike.
  const auto warm = Clock::now();
  for (std::uint32_t done = 0; done < options.runs;) {
    const bool keep = ms_since(warm) >= options.warm_ms;
    for (Form& form : forms) {
      if (!form.graph) continue;
      const Status status = timed_run(form, pictures, options.bytes, keep);
      if (!status) return status.error();
    }
    done += keep ? 1 : 0;
  }

  std::vector<GraphBenchRow> rows;
  for (Form& form : forms) {
    if (form.graph) {
      form.row.wall_ms = quantile(form.wall, 0.5);
      form.row.wall_min_ms = quantile(form.wall, 0);
      form.row.wall_p95_ms = quantile(form.wall, 0.95);
      form.row.gpu_ms = quantile(form.gpu, 0.5);
      form.row.kernels_ms = quantile(form.kernels, 0.5);
      form.row.cpu_ms = quantile(form.cpu, 0.5);
      form.row.device_bytes = form.graph->device_bytes();
      form.row.max_abs = max_abs_difference(forms.front().result, form.result);
    }
    rows.push_back(form.row);
  }
  return rows;
}

}  // namespace spirkiln::bench
