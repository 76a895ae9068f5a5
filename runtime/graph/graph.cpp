// SPDX-License-Identifier: Apache-2.0
// Graph: the backends of one graph, and which of them a shape goes to.
#include <algorithm>
#include <mutex>

#include "graph/as_bytes.hpp"
#include "graph/backend.hpp"
#include "graph/kernel_runner.hpp"
#include "graph/lru.hpp"
#include "graph/vulkan_graph.hpp"
#include "loader/backends.hpp"
#include "loader/guard.hpp"
#include "spirkiln/spirkiln.hpp"

namespace spirkiln {
namespace {

// What a device says of a shape that another backend may well take.
bool may_fall_back(ErrorCode code) {
  return code == ErrorCode::kUnsupported || code == ErrorCode::kNoVariant ||
         code == ErrorCode::kOutOfMemory;
}

Status check_pictures(const Pictures& pictures) {
  // Each is below 2^24 when tensor_shapes lets it pass; the sizes are compared without overflow.
  const std::uint64_t rows = std::uint64_t{pictures.n} * pictures.h;
  const bool fits = rows != 0 && pictures.w != 0 && pictures.bytes.size() % 4 == 0 &&
                    pictures.bytes.size() / 4 / rows == pictures.w &&
                    pictures.bytes.size() / 4 % rows == 0;
  if (!fits) {
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(pictures.n) + " picture(s) of " + std::to_string(pictures.h) +
                     " x " + std::to_string(pictures.w) + " need n * h * w * 4 bytes, there are " +
                     std::to_string(pictures.bytes.size())};
  }
  return Ok{};
}

Error never_made() {
  return Error{ErrorCode::kInvalidArgument, "the graph was never made, or was moved from"};
}

Error no_forms(const GraphOptions& options) {
  const std::string& variant = !options.variant.empty() ? options.variant
                               : !options.axes.empty()  ? options.axes
                                                        : options.kernels;
  return Error{ErrorCode::kInvalidArgument,
               "the CPU backend has no forms of kernels, so '" + variant +
                   "' cannot be had; open the device with backend \"vulkan\" for it"};
}

}  // namespace

struct Graph::State {
  std::mutex mutex;
  Model model;
  GraphOptions options;
  bool fall_back = false;
  std::unique_ptr<GraphBackend> first;
  std::unique_ptr<GraphBackend> cpu;  // made when the first refuses a shape
  struct Refused {};
  LruCache<InputShape, Refused> refused{256};  // shapes that go to the CPU
  Device device;

  State(Device d, Model m, GraphOptions o)
      : model(std::move(m)), options(std::move(o)), device(std::move(d)) {}

  static Result<std::shared_ptr<State>> create(const Device& device, const Model& model,
                                               const GraphOptions& options);
  // Prepared for the shape, or an error of the first backend.
  Result<GraphBackend*> backend_for(const InputShape& shape, RunTimings* timings);
  Result<GraphBackend*> cpu_for(const InputShape& shape, RunTimings* timings, const Error& why);
  // Makes `cpu`, where the first backend gave `why`.
  Status make_cpu(const Error& why);
  void warn(const Error& why) const;
  // For all shapes, from the loss of the device on.
  Result<GraphBackend*> cpu_instead(const InputShape& shape, RunTimings* timings, const Error& why);
  // GraphBackend::run or run_bytes of the backend for the pictures' shape.
  template <typename Tensor>
  Result<std::vector<Tensor>> run(
      Result<std::vector<Tensor>> (GraphBackend::*run_on)(const Pictures&, RunTimings*),
      const Pictures& pictures, RunTimings* timings);
};

Result<std::shared_ptr<Graph::State>> Graph::State::create(const Device& device, const Model& model,
                                                           const GraphOptions& options) {
  auto state = std::make_shared<State>(device, model, options);
  // Backends work, and speak, while the graph is locked.
  state->options.message = kept_messages(options.message);
  if (device.state() != nullptr) {
    state->fall_back = device.backends()->fall_back && !asks_for_kernels(options);
    auto graph = create_vulkan_graph(device, model, state->options);
    if (graph) {
      state->first = *std::move(graph);
      return state;
    }
    const Error why = std::move(graph).error();
    if (!state->fall_back || !(is_lost(device) || may_fall_back(why.code))) return why;
    if (auto s = state->make_cpu(why); !s) return std::move(s).error();
    state->first = std::move(state->cpu);
    state->fall_back = false;
    state->warn(why);
    return state;
  }
  if (asks_for_kernels(options)) return no_forms(options);
  auto cpu = open_cpu_backend();
  if (!cpu) return std::move(cpu).error();
  auto graph = (*cpu)->create_graph(model, state->options);
  if (!graph) return std::move(graph).error();
  state->first = *std::move(graph);
  return state;
}

Status Graph::State::make_cpu(const Error& why) {
  if (cpu != nullptr) return Ok{};
  auto backend = open_cpu_backend();
  if (!backend) return Error{why.code, why.message + "\n" + backend.error().message};
  auto graph = (*backend)->create_graph(model, options);
  if (!graph) return std::move(graph).error();
  cpu = *std::move(graph);
  return Ok{};
}

// A device is lost once, however many graphs and shapes find out.
void Graph::State::warn(const Error& why) const {
  if (is_lost(device) && device.backends()->loss_told.exchange(true)) return;
  if (!options.message) return;
  const char* what = is_lost(device) ? "the CPU runs in place of the device: "
                                     : "the CPU runs what the device cannot take: ";
  options.message(Severity::kWarning, what + why.message);
}

Result<GraphBackend*> Graph::State::cpu_instead(const InputShape& shape, RunTimings* timings,
                                                const Error& why) {
  if (auto s = make_cpu(why); !s) return std::move(s).error();
  warn(why);
  if (auto s = cpu->prepare(shape, timings); !s) return std::move(s).error();
  return cpu.get();
}

Result<GraphBackend*> Graph::State::backend_for(const InputShape& shape, RunTimings* timings) {
  if (fall_back && first->lost()) return cpu_instead(shape, timings, lost_error(device));
  if (refused.find(shape) != nullptr) {
    if (auto s = cpu->prepare(shape, timings); !s) return std::move(s).error();
    return cpu.get();
  }
  auto s = first->prepare(shape, timings);
  if (s) return first.get();
  if (fall_back && first->lost()) return cpu_instead(shape, timings, s.error());
  if (!fall_back || !may_fall_back(s.error().code)) return std::move(s).error();
  return cpu_for(shape, timings, s.error());
}

Result<GraphBackend*> Graph::State::cpu_for(const InputShape& shape, RunTimings* timings,
                                            const Error& why) {
  if (auto s = make_cpu(why); !s) return std::move(s).error();
  if (auto s = cpu->prepare(shape, timings); !s) {
    return Error{s.error().code, why.message + "\nand on the CPU: " + s.error().message};
  }
  refused.insert(shape, {});
  warn(why);
  return cpu.get();
}

std::vector<std::string> variant_names() { return {form_names().begin(), form_names().end()}; }

Result<Graph> Graph::create(const Device& device, const Model& model, const GraphOptions& options) {
  if (device.backends() == nullptr || model.state() == nullptr) {
    return Error{ErrorCode::kInvalidArgument, std::string("the ") +
                                                  (model.state() == nullptr ? "model" : "device") +
                                                  " was never opened, or was moved from"};
  }
  if (options.best_class && options.bytes) {
    return Error{ErrorCode::kInvalidArgument,
                 "best_class and bytes are both wished for; a number of a class is no byte"};
  }
  auto state = guarded([&] { return State::create(device, model, options); });
  if (!state) return std::move(state).error();
  Graph graph;
  graph.state_ = *std::move(state);
  return graph;
}

Status Graph::prepare(std::uint32_t n, std::uint32_t h, std::uint32_t w) {
  if (state_ == nullptr) return never_made();
  return guarded([&]() -> Status {
    const std::lock_guard lock(state_->mutex);
    auto backend = state_->backend_for({n, h, w}, nullptr);
    if (!backend) return std::move(backend).error();
    return Ok{};
  });
}

Result<std::vector<TensorF32>> Graph::run(const Pictures& pictures, RunTimings* timings) {
  if (state_ == nullptr) return never_made();
  return guarded([&]() -> Result<std::vector<TensorF32>> {
    if (!state_->options.bytes) return state_->run(&GraphBackend::run, pictures, timings);
    auto outputs = state_->run(&GraphBackend::run_bytes, pictures, timings);
    if (!outputs) return std::move(outputs).error();
    std::vector<TensorF32> values;
    for (const TensorU8& t : *outputs) {
      values.push_back({t.n, t.h, t.w, t.c, std::vector<float>(t.values.size())});
      std::transform(t.values.begin(), t.values.end(), values.back().values.begin(), value_of);
    }
    return values;
  });
}

Result<std::vector<TensorU8>> Graph::run_bytes(const Pictures& pictures, RunTimings* timings) {
  if (state_ == nullptr) return never_made();
  return guarded([&]() -> Result<std::vector<TensorU8>> {
    if (!state_->options.bytes) {
      return Error{ErrorCode::kInvalidArgument,
                   "the graph gives floats; make it with GraphOptions::bytes for bytes"};
    }
    return state_->run(&GraphBackend::run_bytes, pictures, timings);
  });
}

template <typename Tensor>
Result<std::vector<Tensor>> Graph::State::run(
    Result<std::vector<Tensor>> (GraphBackend::*run_on)(const Pictures&, RunTimings*),
    const Pictures& pictures, RunTimings* timings) {
  if (timings != nullptr) *timings = {};
  if (auto s = check_pictures(pictures); !s) return std::move(s).error();
  const InputShape shape{pictures.n, pictures.h, pictures.w};
  const std::lock_guard lock(mutex);
  auto backend = backend_for(shape, timings);
  if (!backend) return std::move(backend).error();
  auto outputs = ((**backend).*run_on)(pictures, timings);
  if (outputs || *backend != first.get() || !fall_back || !first->lost()) return outputs;
  if (timings != nullptr) *timings = {};
  backend = cpu_instead(shape, timings, outputs.error());
  if (!backend) return std::move(backend).error();
  return ((**backend).*run_on)(pictures, timings);
}

std::vector<NodeInfo> Graph::nodes() const {
  if (state_ == nullptr) return {};
  const Model::State& model = *state_->model.state();
  std::vector<NodeInfo> nodes;
  for (const model::Node& n : model.nodes) nodes.push_back({model.string(n.name), op_name(n.op)});
  return nodes;
}

Result<std::vector<TensorF32>> Graph::run_nodes(const Pictures& pictures, std::size_t first,
                                                std::size_t count) {
  if (state_ == nullptr) return never_made();
  return guarded([&]() -> Result<std::vector<TensorF32>> {
    const std::size_t all = state_->model.state()->nodes.size();
    if (count == 0 || first >= all || count > all - first) {
      return Error{ErrorCode::kInvalidArgument, "there are no " + std::to_string(count) +
                                                    " nodes from " + std::to_string(first) +
                                                    " on; the graph has " + std::to_string(all)};
    }
    if (auto s = check_pictures(pictures); !s) return std::move(s).error();
    const std::lock_guard lock(state_->mutex);
    auto backend = state_->backend_for({pictures.n, pictures.h, pictures.w}, nullptr);
    if (!backend) return std::move(backend).error();
    return (*backend)->run_nodes(pictures, first, count);
  });
}

Result<std::vector<StepTime>> Graph::profile(const Pictures& pictures, std::uint32_t repeats,
                                             std::uint32_t rounds) {
  if (state_ == nullptr) return never_made();
  return guarded([&]() -> Result<std::vector<StepTime>> {
    if (repeats < 1 || repeats > 1000 || rounds < 1 || rounds > 1000) {
      return Error{ErrorCode::kInvalidArgument, "a profile of " + std::to_string(repeats) +
                                                    " repeats in " + std::to_string(rounds) +
                                                    " rounds; expected 1 to 1000 of both"};
    }
    if (auto s = check_pictures(pictures); !s) return std::move(s).error();
    const std::lock_guard lock(state_->mutex);
    auto backend = state_->backend_for({pictures.n, pictures.h, pictures.w}, nullptr);
    if (!backend) return std::move(backend).error();
    return (*backend)->profile(pictures, repeats, rounds);
  });
}

std::string Graph::variant() const {
  return state_ != nullptr ? state_->first->variant() : std::string();
}

std::vector<std::uint32_t> Graph::output_channels() const {
  if (state_ == nullptr) return {};
  const Model::State& model = *state_->model.state();
  std::vector<std::uint32_t> channels;
  for (const std::uint32_t tensor : model.outputs) channels.push_back(model.channels(tensor));
  return channels;
}

std::uint64_t Graph::device_bytes() const {
  if (state_ == nullptr) return 0;
  const std::lock_guard lock(state_->mutex);
  return state_->first->bytes() + (state_->cpu != nullptr ? state_->cpu->bytes() : 0);
}

}  // namespace spirkiln
