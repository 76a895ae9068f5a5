// SPDX-License-Identifier: Apache-2.0
// Graph: plans by input shape, and their runs.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>

#include "graph/executor.hpp"
#include "graph/image.hpp"
#include "graph/kernel_runner.hpp"
#include "graph/lru.hpp"
#include "graph/plan.hpp"
#include "loader/guard.hpp"
#include "spirkiln/spirkiln.hpp"

namespace spirkiln {
namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Plan {
  PlannedGraph planned;
  std::unique_ptr<Recording> recording;  // null after an error: recorded again at the next run
};

}  // namespace

struct Graph::State {
  std::mutex mutex;
  // Declared in the order in which they must outlive what stands below them.
  Device device;
  Model model;
  Table table;
  std::vector<Form> forms;
  WeightLayout weights;
  std::unique_ptr<Executor> executor;
  LruCache<InputShape, Plan> plans{32};
  GraphOptions options;
  bool profile = false;

  State(Device d, Model m, Table t)
      : device(std::move(d)), model(std::move(m)), table(std::move(t)) {}

  static Result<std::shared_ptr<State>> create(const Device& device, const Model& model,
                                               const GraphOptions& options);
  Status upload_weights();
  Result<std::vector<TensorF32>> run(const Pictures& pictures, RunTimings* timings);
  Result<Plan*> plan_for(const InputShape& shape, RunTimings* timings);
  Status prepare(Plan* plan);
  void report(const Plan& plan) const;
};

Status Graph::State::upload_weights() {
  const DeviceCaps& caps = device.state()->caps;
  weights = lay_out_weights(*model.state(), forms.front().storage == table::Storage::kFp32,
                            caps.storage_alignment);
  if (weights.bytes == 0) return Ok{};
  if (auto s = executor->reserve(Home::kWeights, weights.bytes); !s) return s;
  return executor->write(Home::kWeights, 0, weights.bytes, [&](std::span<std::byte> out) {
    fill_weights(*model.state(), weights, out);
  });
}

Result<Plan*> Graph::State::plan_for(const InputShape& shape, RunTimings* timings) {
  Plan* plan = plans.find(shape);
  const auto begin = Clock::now();
  if (plan == nullptr) {
    auto planned = plan_graph(*model.state(), shape, table, device.state()->caps, forms, weights,
                              [&](const TensorImage& i) { return image_need(*device.state(), i); });
    if (!planned) return std::move(planned).error();
    plan = plans.insert(shape, Plan{*std::move(planned), nullptr});
  }
  const bool ready = plan->recording != nullptr && !executor->stale(*plan->recording) &&
                     executor->holds(plan->planned.program);
  if (ready) return plan;
  if (auto s = prepare(plan); !s) return std::move(s).error();
  if (timings != nullptr) timings->plan_ms = ms_since(begin);
  return plan;
}

Status Graph::State::prepare(Plan* plan) {
  plan->recording.reset();
  if (auto s = executor->reserve_for(plan->planned.program); !s) return s;
  auto recording = executor->record(table, plan->planned.program, profile);
  if (!recording) return std::move(recording).error();
  plan->recording = *std::move(recording);
  device.state()->pipelines->save();
  return Ok{};
}

// One message a step: what it ran and for how long.
void Graph::State::report(const Plan& plan) const {
  if (!options.message) return;
  const auto& times = plan.recording->step_ms();
  const auto& steps = plan.planned.program.steps;
  for (std::size_t i = 0; i < times.size() && i < steps.size(); ++i) {
    const Step& s = steps[i];
    std::string text = "profile " + std::to_string(times[i] * 1e3) + " us " +
                       std::string(s.pipeline.kernel) + " groups " + std::to_string(s.groups[0]) +
                       " " + std::to_string(s.groups[1]) + " " + std::to_string(s.groups[2]);
    for (const Use& use : s.uses) {
      if (use.writes) text += " -> " + plan.planned.program.buffers[use.buffer].name;
    }
    options.message(Severity::kInfo, text);
  }
}

Result<std::shared_ptr<Graph::State>> Graph::State::create(const Device& device, const Model& model,
                                                           const GraphOptions& options) {
  auto table = open_table();
  if (!table) return std::move(table).error();
  std::string variant = options.variant;
  if (const char* env = std::getenv("SPIRKILN_VARIANT"); variant.empty() && env != nullptr) {
    variant = env;
  }
  auto forms = choose_forms(variant, device.state()->caps);
  if (!forms) return std::move(forms).error();
  auto executor = Executor::create(device.state());
  if (!executor) return std::move(executor).error();

  auto state = std::make_shared<State>(device, model, *std::move(table));
  state->options = options;
  if (const char* profile = std::getenv("SPIRKILN_PROFILE"); profile != nullptr && *profile) {
    state->profile = std::strcmp(profile, "1") == 0;
    if (!state->profile && std::strcmp(profile, "0") != 0) {
      return Error{ErrorCode::kInvalidArgument,
                   "SPIRKILN_PROFILE is '" + std::string(profile) + "'; expected 0 or 1"};
    }
  }
  state->forms = *std::move(forms);
  state->executor = *std::move(executor);
  state->plans.set_capacity(std::max<std::size_t>(options.max_plans, 1));
  if (auto s = state->upload_weights(); !s) return std::move(s).error();
  return state;
}

std::vector<std::string> variant_names() { return {form_names().begin(), form_names().end()}; }

Result<Graph> Graph::create(const Device& device, const Model& model, const GraphOptions& options) {
  auto state = guarded([&] { return State::create(device, model, options); });
  if (!state) return std::move(state).error();
  Graph graph;
  graph.state_ = *std::move(state);
  return graph;
}

Status Graph::prepare(std::uint32_t n, std::uint32_t h, std::uint32_t w) {
  return guarded([&]() -> Status {
    const std::lock_guard lock(state_->mutex);
    auto plan = state_->plan_for({n, h, w}, nullptr);
    if (!plan) return std::move(plan).error();
    return Ok{};
  });
}

Result<std::vector<TensorF32>> Graph::run(const Pictures& pictures, RunTimings* timings) {
  return guarded([&] { return state_->run(pictures, timings); });
}

Result<std::vector<TensorF32>> Graph::State::run(const Pictures& pictures, RunTimings* timings) {
  if (timings != nullptr) *timings = {};
  const InputShape shape{pictures.n, pictures.h, pictures.w};
  // Each is below 2^24 when tensor_shapes lets it pass; the sizes are compared without overflow.
  const std::uint64_t rows = std::uint64_t{shape.n} * shape.h;
  const bool fits = rows != 0 && shape.w != 0 && pictures.bytes.size() % 4 == 0 &&
                    pictures.bytes.size() / 4 / rows == shape.w &&
                    pictures.bytes.size() / 4 % rows == 0;
  if (!fits) {
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(shape.n) + " picture(s) of " + std::to_string(shape.h) + " x " +
                     std::to_string(shape.w) + " need n * h * w * 4 bytes, there are " +
                     std::to_string(pictures.bytes.size())};
  }
  const std::lock_guard lock(mutex);
  auto plan = plan_for(shape, timings);
  if (!plan) return std::move(plan).error();
  const PlannedGraph& planned = (*plan)->planned;

  auto begin = Clock::now();
  std::memcpy(executor->mapped(Home::kUpload).data() + planned.upload_offset, pictures.bytes.data(),
              pictures.bytes.size());
  const double upload_ms = ms_since(begin);
  auto gpu_ms = executor->run(*(*plan)->recording);
  if (!gpu_ms) return std::move(gpu_ms).error();
  if (profile) report(**plan);
  begin = Clock::now();
  std::vector<TensorF32> outputs;
  const auto mapped = executor->mapped(Home::kDownload);
  for (const PlannedOutput& o : planned.outputs) {
    TensorF32 t;
    t.n = o.dims.n;
    t.h = o.dims.h;
    t.w = o.dims.w;
    t.c = o.dims.c;
    // assign, not resize and copy: these may be megabytes.
    const auto* values = reinterpret_cast<const float*>(mapped.data() + o.offset);
    t.values.assign(values, values + o.dims.pixels() * o.dims.c);
    outputs.push_back(std::move(t));
  }
  if (timings != nullptr) {
    timings->upload_ms = upload_ms;
    timings->gpu_ms = *gpu_ms;
    timings->download_ms = ms_since(begin);
    timings->dispatches = static_cast<std::uint32_t>(planned.program.steps.size());
  }
  return outputs;
}

std::string Graph::variant() const {
  std::string text;
  for (const Form f : state_->forms) text += (text.empty() ? "" : "/") + form_name(f);
  return text;
}

std::vector<std::uint32_t> Graph::output_channels() const {
  const Model::State& model = *state_->model.state();
  std::vector<std::uint32_t> channels;
  for (const std::uint32_t tensor : model.outputs) channels.push_back(model.channels(tensor));
  return channels;
}

std::uint64_t Graph::device_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->executor->bytes();
}

}  // namespace spirkiln
