// SPDX-License-Identifier: Apache-2.0
#include "graph/vulkan_graph.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

#include "graph/executor.hpp"
#include "graph/finite.hpp"
#include "graph/image.hpp"
#include "graph/kernel_runner.hpp"
#include "graph/lru.hpp"
#include "graph/plan.hpp"
#include "graph/step_times.hpp"
#include "loader/environment.hpp"
#include "loader/user_rules.hpp"
#include "proof/program_proof.hpp"
#include "table/printable.hpp"

namespace spirkiln {
namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Of results that are looked at together when one is no number.
constexpr std::uint64_t kWatchedBytes = 64u << 20;

struct Plan {
  PlannedGraph planned;
  std::unique_ptr<Recording> recording;  // null after an error: recorded again at the next run
  double gpu_ms = 0;  // of the last run
};

class VulkanGraph final : public GraphBackend {
 public:
  VulkanGraph(Device d, Model m, Table t)
      : device(std::move(d)), model(std::move(m)), table(std::move(t)) {}

  Status upload_weights();
  Status prepare(const InputShape& shape, RunTimings* timings) override;
  Result<std::vector<TensorF32>> run(const Pictures& pictures, RunTimings* timings) override;
  Result<std::vector<TensorU8>> run_bytes(const Pictures& pictures, RunTimings* timings) override;
  Result<std::vector<TensorF32>> run_nodes(const Pictures& pictures, std::size_t first,
                                           std::size_t count) override;
  Result<std::vector<StepTime>> profile(const Pictures& pictures, std::uint32_t repeats,
                                        std::uint32_t rounds) override;
  std::string variant() const override;
  std::uint64_t bytes() const override { return executor->bytes(); }
  bool lost() const override { return is_lost(device); }

  // Declared in the order in which they must outlive what stands below them.
  Device device;
  Model model;
  Table table;
  SelectRules rules;
  std::vector<Form> forms;
  WeightLayout weights;
  std::unique_ptr<Executor> executor;
  LruCache<InputShape, Plan> plans{32};
  GraphOptions options;
  std::uint32_t repeats = 0;  // of each step, for a profile; 0: plain runs
  bool forced_form = false;   // by the options or the environment
  bool proves = true;         // that kernels give their known answers, before they are used
  bool uploaded = false;      // the weights, as `weights` lays them out

 private:
  Result<PlannedGraph> plan_in(const std::vector<Form>& wanted, const WeightLayout& layout,
                               const InputShape& shape, const PlanWish& wish) const;
  WeightLayout layout_for(const std::vector<Form>& wanted) const;
  Result<PlannedGraph> plan(const InputShape& shape, const PlanWish& wish);
  Result<PlannedGraph> proven_plan(const InputShape& shape, const PlanWish& wish);
  Result<Plan*> plan_for(const InputShape& shape, RunTimings* timings);
  Status submit(Plan* plan, const Pictures& pictures, RunTimings* timings);
  Result<Plan*> run_plan(const Pictures& pictures, RunTimings* timings);
  Result<std::vector<TensorF32>> read_outputs(const PlannedGraph& planned) const;
  Error not_finite(const Pictures& pictures);
  Status record(Plan* plan);
  void report(const Plan& plan) const;
};

WeightLayout VulkanGraph::layout_for(const std::vector<Form>& wanted) const {
  return lay_out_weights(*model.state(), wanted.front().storage == table::Storage::kFp32,
                         device.state()->caps.storage_alignment);
}

Status VulkanGraph::upload_weights() {
  if (uploaded) return Ok{};
  weights = layout_for(forms);
  uploaded = weights.bytes == 0;
  if (uploaded) return Ok{};
  if (auto s = executor->reserve(Home::kWeights, weights.bytes); !s) return s;
  const auto fill = [&](std::span<std::byte> out) { fill_weights(*model.state(), weights, out); };
  if (auto s = executor->write(Home::kWeights, 0, weights.bytes, fill); !s) return s;
  uploaded = true;
  return Ok{};
}

Result<PlannedGraph> VulkanGraph::plan_in(const std::vector<Form>& wanted,
                                          const WeightLayout& layout, const InputShape& shape,
                                          const PlanWish& wish) const {
  return plan_graph(
      *model.state(), shape, table, device.state()->caps, rules, wanted, layout,
      [&](const TensorImage& i) { return image_need(*device.state(), i); }, {}, wish);
}

// Where a kernel has no variant left in 16 bits and no form was asked for, the graph goes on in
// fp32: its weights are uploaded anew, and what was planned before is planned again.
Result<PlannedGraph> VulkanGraph::plan(const InputShape& shape, const PlanWish& wish) {
  auto planned = plan_in(forms, weights, shape, wish);
  if (planned || planned.error().code != ErrorCode::kNoVariant || forced_form ||
      forms.front() == kFp32) {
    return planned;
  }
  const std::vector<Form> wider = {kFp32};
  auto instead = plan_in(wider, layout_for(wider), shape, wish);
  if (!instead) {
    return Error{planned.error().code,
                 planned.error().message + "\nand in fp32: " + instead.error().message};
  }
  if (options.message) {
    options.message(Severity::kWarning, "the graph goes on in fp32: " + planned.error().message);
  }
  forms = wider;
  plans.clear();
  uploaded = false;
  return instead;
}

// Every kernel gives its known answers before a plan of it runs. One that does not is left out, and
// the shape is planned again: with the kernel's next variant, in fp32, or not at all. Each time
// there are fewer left, so this ends.
Result<PlannedGraph> VulkanGraph::proven_plan(const InputShape& shape, const PlanWish& wish) {
  std::vector<WrongKernel> all;
  while (true) {
    auto planned = plan(shape, wish);
    if (!planned) {
      tell_wrong(device, table, all, nullptr, options.message);
      return planned;
    }
    // Again where an earlier call changed the form and could not.
    if (auto s = upload_weights(); !s) return std::move(s).error();
    if (!proves) return planned;
    const auto wrong = wrong_kernels(
        device, table, planned->program, [&] { return needs_subnormals(*model.state()); },
        options.message);
    if (!wrong) return wrong.error();
    if (wrong->empty()) {
      tell_wrong(device, table, all, &planned->program, options.message);
      return planned;
    }
    for (const WrongKernel& w : *wrong) {
      rules.failed.insert(table.blobs()[table.variants()[w.variant].blob].hash);
      all.push_back(w);
    }
  }
}

Result<Plan*> VulkanGraph::plan_for(const InputShape& shape, RunTimings* timings) {
  if (lost()) return lost_error(device);
  Plan* plan = plans.find(shape);
  const auto begin = Clock::now();
  if (plan == nullptr) {
    PlanWish wish;
    wish.best_class = options.best_class;
    wish.bytes = options.bytes;
    auto planned = proven_plan(shape, wish);
    if (!planned) return std::move(planned).error();
    plan = plans.insert(shape, Plan{*std::move(planned), nullptr, 0});
  }
  const bool ready = plan->recording != nullptr && !executor->stale(*plan->recording) &&
                     executor->holds(plan->planned.program) &&
                     !executor->cut_badly(*plan->recording, plan->gpu_ms);
  if (ready) return plan;
  if (auto s = record(plan); !s) return std::move(s).error();
  if (timings != nullptr) timings->plan_ms = ms_since(begin);
  return plan;
}

Status VulkanGraph::record(Plan* plan) {
  plan->recording.reset();
  if (auto s = executor->reserve_for(plan->planned.program); !s) return s;
  auto recording = executor->record(table, plan->planned.program, repeats, plan->gpu_ms);
  if (!recording) return std::move(recording).error();
  plan->recording = *std::move(recording);
  device.state()->pipelines->save();
  return Ok{};
}

// One message a step: what it ran and for how long.
void VulkanGraph::report(const Plan& plan) const {
  if (!options.message) return;
  const Program& program = plan.planned.program;
  const auto& ms = plan.recording->step_ms();
  if (ms.empty()) return;  // a device without timestamps
  const auto times = step_times(table, program, ms);
  for (std::size_t i = 0; i < times.size(); ++i) {
    options.message(Severity::kInfo, profile_line(program, program.steps[i], times[i]));
  }
}

Status VulkanGraph::submit(Plan* plan, const Pictures& pictures, RunTimings* timings) {
  const auto begin = Clock::now();
  std::memcpy(executor->mapped(Home::kUpload).data() + plan->planned.upload_offset,
              pictures.bytes.data(), pictures.bytes.size());
  const double upload_ms = ms_since(begin);
  auto gpu_ms = executor->run(*plan->recording);
  if (!gpu_ms) return std::move(gpu_ms).error();
  plan->gpu_ms = *gpu_ms;
  if (timings != nullptr) {
    timings->upload_ms = upload_ms;
    timings->gpu_ms = *gpu_ms;
    timings->kernels_ms = plan->recording->kernels_ms();
    timings->dispatches = static_cast<std::uint32_t>(plan->planned.program.steps.size());
  }
  return Ok{};
}

Result<std::vector<TensorF32>> VulkanGraph::read_outputs(const PlannedGraph& planned) const {
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
  return outputs;
}

// Up to where the results lie in download memory.
Result<Plan*> VulkanGraph::run_plan(const Pictures& pictures, RunTimings* timings) {
  auto plan = plan_for({pictures.n, pictures.h, pictures.w}, timings);
  if (!plan) return plan;
  if (auto s = submit(*plan, pictures, timings); !s) return std::move(s).error();
  if (repeats != 0) report(**plan);
  return plan;
}

Result<std::vector<TensorU8>> VulkanGraph::run_bytes(const Pictures& pictures,
                                                     RunTimings* timings) {
  auto plan = run_plan(pictures, timings);
  if (!plan) return std::move(plan).error();
  const auto begin = Clock::now();
  std::vector<TensorU8> outputs;
  const auto mapped = executor->mapped(Home::kDownload);
  for (const PlannedOutput& o : (*plan)->planned.outputs) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(mapped.data() + o.offset);
    const std::uint64_t values = o.dims.pixels() * o.dims.c;
    const auto checks = mapped.subspan(o.offset + (values + 3) / 4 * 4, std::size_t{o.checks} * 4);
    if (std::any_of(checks.begin(), checks.end(), [](std::byte b) { return b != std::byte{0}; })) {
      return not_finite(pictures);
    }
    outputs.push_back({o.dims.n, o.dims.h, o.dims.w, o.dims.c, {bytes, bytes + values}});
  }
  if (timings != nullptr) timings->download_ms = ms_since(begin);
  return outputs;
}

Result<std::vector<TensorF32>> VulkanGraph::run(const Pictures& pictures, RunTimings* timings) {
  auto plan = run_plan(pictures, timings);
  if (!plan) return std::move(plan).error();
  const auto begin = Clock::now();
  auto outputs = read_outputs((*plan)->planned);
  if (!outputs) return outputs;
  for (const TensorF32& t : *outputs) {
    if (!all_finite(t.values.data(), t.values.size())) return not_finite(pictures);
  }
  if (timings != nullptr) timings->download_ms = ms_since(begin);
  return outputs;
}

// A program of its own, used once.
Result<std::vector<TensorF32>> VulkanGraph::run_nodes(const Pictures& pictures, std::size_t first,
                                                      std::size_t count) {
  if (lost()) return lost_error(device);
  PlanWish wish;
  wish.first_node = first;
  wish.node_count = count;
  // Proven as a whole graph is: it may run kernels that no plan of that does.
  auto planned = proven_plan({pictures.n, pictures.h, pictures.w}, wish);
  if (!planned) return std::move(planned).error();
  Plan plan{*std::move(planned), nullptr, 0};
  if (auto s = executor->reserve_for(plan.planned.program); !s) return std::move(s).error();
  auto recording = executor->record(table, plan.planned.program);
  if (!recording) return std::move(recording).error();
  plan.recording = *std::move(recording);
  if (auto s = submit(&plan, pictures, nullptr); !s) return std::move(s).error();
  return read_outputs(plan.planned);
}

// A recording of its own, beside the plan's.
Result<std::vector<StepTime>> VulkanGraph::profile(const Pictures& pictures, std::uint32_t repeats,
                                                   std::uint32_t rounds) {
  auto plan = plan_for({pictures.n, pictures.h, pictures.w}, nullptr);
  if (!plan) return std::move(plan).error();
  // How long one run takes decides how the long one is cut.
  if (auto s = submit(*plan, pictures, nullptr); !s) return std::move(s).error();
  const Program& program = (*plan)->planned.program;
  Plan repeated{(*plan)->planned, nullptr, 0};
  auto recording = executor->record(table, program, repeats, (*plan)->gpu_ms * repeats);
  if (!recording) return std::move(recording).error();
  repeated.recording = *std::move(recording);
  std::vector<double> least;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    if (auto s = submit(&repeated, pictures, nullptr); !s) return std::move(s).error();
    const auto& ms = repeated.recording->step_ms();
    if (ms.empty()) {
      return Error{ErrorCode::kUnsupported,
                   device.info().name + " has no timestamps, so its steps cannot be timed"};
    }
    if (least.empty()) least = ms;
    for (std::size_t i = 0; i < ms.size(); ++i) least[i] = std::min(least[i], ms[i]);
  }
  return step_times(table, program, least);
}

// The numbers again, some nodes at a time, up to the first that is none: all at once would take the
// memory of all tensors together.
Error VulkanGraph::not_finite(const Pictures& pictures) {
  const Model::State& state = *model.state();
  std::string where = "nothing that could be found again";
  const InputShape shape{pictures.n, pictures.h, pictures.w};
  const auto shapes = tensor_shapes(state, shape);
  for (std::size_t first = 0; shapes && first < state.nodes.size();) {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    while (first + count < state.nodes.size() && (count == 0 || bytes < kWatchedBytes)) {
      const Dims& d = (*shapes)[state.nodes[first + count++].output];
      bytes += d.pixels() * d.c * 4;
    }
    const auto values = run_nodes(pictures, first, count);
    if (!values) {
      where += " (" + values.error().message + ")";
      break;
    }
    const auto bad = std::find_if(values->begin(), values->end(), [](const TensorF32& t) {
      return !all_finite(t.values.data(), t.values.size());
    });
    if (bad != values->end()) {
      const auto i = first + static_cast<std::size_t>(bad - values->begin());
      where = "node " + std::to_string(i) + " (" + std::string(op_name(state.nodes[i].op)) + " " +
              std::string(state.string(state.nodes[i].name)) + ")";
      break;
    }
    first += count;
  }
  return Error{ErrorCode::kNotFinite, state.origin + ": NaN or infinity in " + variant() + " on " +
                                          device.info().name + ", first made by " + where};
}

Status VulkanGraph::prepare(const InputShape& shape, RunTimings* timings) {
  auto plan = plan_for(shape, timings);
  if (!plan) return std::move(plan).error();
  return Ok{};
}

std::string VulkanGraph::variant() const {
  std::string text;
  for (const Form f : forms) text += (text.empty() ? "" : "/") + form_name(f);
  return text;
}

}  // namespace

bool is_lost(const Device& device) { return device.state()->lost.load(std::memory_order_relaxed); }

Error lost_error(const Device& device) { return device.state()->lost_error(); }

Result<std::unique_ptr<GraphBackend>> create_vulkan_graph(const Device& device, const Model& model,
                                                          const GraphOptions& options) {
  if (is_lost(device)) return lost_error(device);
  auto table = open_table();
  if (!table) return std::move(table).error();
  std::string variant = options.variant;
  if (const char* env = environment("SPIRKILN_VARIANT"); variant.empty() && env != nullptr) {
    variant = env;
  }
  const auto no_proof = environment_switch("SPIRKILN_NO_PROOF");
  if (!no_proof) return no_proof.error();
  auto rules = user_rules(*device.state(), *table, {options.axes, options.kernels, options.avoid});
  if (!rules) return std::move(rules).error();
  auto forms = choose_forms(variant, device.state()->caps);
  if (!forms) return std::move(forms).error();
  auto executor = Executor::create(device.state());
  if (!executor) return std::move(executor).error();

  auto state = std::make_unique<VulkanGraph>(device, model, *std::move(table));
  state->options = options;
  if (const char* profile = environment("SPIRKILN_PROFILE")) {
    const std::string_view text = profile;
    const auto [end, wrong] =
        std::from_chars(text.data(), text.data() + text.size(), state->repeats);
    if (wrong != std::errc() || end != text.data() + text.size() || state->repeats > 1000) {
      return Error{ErrorCode::kInvalidArgument,
                   "SPIRKILN_PROFILE is '" + printable(text) +
                       "'; expected how often each step runs, 0 (no profile) to 1000"};
    }
  }
  state->rules = *std::move(rules);
  state->forms = *std::move(forms);
  state->forced_form = !variant.empty();
  state->proves = !options.no_proof && !*no_proof;
  state->executor = *std::move(executor);
  state->plans.set_capacity(std::max<std::size_t>(options.max_plans, 1));
  if (auto s = state->upload_weights(); !s) return std::move(s).error();
  return std::unique_ptr<GraphBackend>(std::move(state));
}

}  // namespace spirkiln
