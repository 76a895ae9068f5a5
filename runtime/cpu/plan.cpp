// SPDX-License-Identifier: Apache-2.0
#include "cpu/plan.hpp"

#include <algorithm>

#include "cpu/activation.hpp"
#include "cpu/loops.hpp"
#include "cpu/operators.hpp"
#include "graph/arena.hpp"

namespace spirkiln::cpu {
namespace {

using model::Op;

constexpr std::uint64_t kAlignment = 64;  // a cache line, and the widest vector

bool is_convolution(Op op) { return op == Op::kConv || op == Op::kDepthwise || op == Op::kDeconv; }

Step own_step(const StepRequest& q) {
  switch (q.node.op) {
    case Op::kMaxPool:
    case Op::kAvgPool:
      return pool(q);
    case Op::kGlobalMean:
      return global_mean(q);
    case Op::kSqueezeExcite:
      return squeeze_excite(q);
    case Op::kBinary:
      return binary(q);
    case Op::kAffine:
      return affine(q);
    case Op::kResize:
      return resize(q);
    case Op::kConcat:
      return concat(q);
    case Op::kLayerNorm:
      return layer_norm(q);
    case Op::kAttention:
      return attention(q);
    case Op::kSoftmax:
      return softmax(q);
    case Op::kConv:
    case Op::kDepthwise:
    case Op::kDeconv:
      break;
  }
  return {};
}

// What is left of a graph when steps were merged.
struct Fusion {
  std::vector<bool> merged;  // nodes that are part of another one
  std::vector<std::vector<std::uint32_t>> inputs;  // tensors, by node
};

// A plain enlargement that only a concat reads is the concat's, which then reads the smaller
// tensor.
Fusion merge_resizes(const Model::State& model) {
  Fusion fusion;
  fusion.merged.assign(model.nodes.size(), false);
  std::vector<std::uint32_t> readers(model.tensors.size(), 0);
  std::vector<std::uint32_t> maker(model.tensors.size(), model::kNone);
  for (std::uint32_t i = 0; i < model.nodes.size(); ++i) {
    const model::Node& node = model.nodes[i];
    const auto inputs = model.inputs_of(node);
    fusion.inputs.emplace_back(inputs.begin(), inputs.end());
    for (const std::uint32_t t : inputs) ++readers[t];
    if (node.op == Op::kResize && node.flags == 0 && is_identity(node.epilogue)) {
      maker[node.output] = i;
    }
  }
  for (const std::uint32_t t : model.outputs) ++readers[t];
  for (std::uint32_t i = 0; i < model.nodes.size(); ++i) {
    const model::Node& node = model.nodes[i];
    if (node.op != Op::kConcat) continue;
    for (std::size_t k = 0; k < static_cast<std::size_t>(node.i[0]); ++k) {
      std::uint32_t& t = fusion.inputs[i][k];
      if (maker[t] == model::kNone || readers[t] != 1) continue;
      fusion.merged[maker[t]] = true;
      t = model.inputs_of(model.nodes[maker[t]])[0];
    }
  }
  return fusion;
}

// Where each tensor lives: items of the arena, some of which hold several tensors one after the
// other.
class Placement {
 public:
  explicit Placement(const std::vector<Dims>& shapes) : item_(shapes.size(), kNone) {}

  static std::uint64_t bytes_of(const Dims& d) { return std::uint64_t{values_of(d)} * 4; }

  void make(std::uint32_t tensor, const Dims& d, std::uint32_t step) {
    item_[tensor] = static_cast<std::uint32_t>(items_.size());
    items_.push_back({bytes_of(d), step, step});
  }
  // In place of `other`, which dies.
  void make_in(std::uint32_t tensor, std::uint32_t other, std::uint32_t step) {
    item_[tensor] = item_[other];
    use(tensor, step);
  }
  void use(std::uint32_t tensor, std::uint32_t step) {
    ArenaItem& item = items_[item_[tensor]];
    item.last = std::max(item.last, step);
  }
  std::uint32_t scratch(std::uint64_t bytes, std::uint32_t step) {
    items_.push_back({bytes, step, step});
    return static_cast<std::uint32_t>(items_.size() - 1);
  }
  Result<std::uint64_t> pack() { return pack_arena(items_, kAlignment); }
  std::uint64_t offset(std::uint32_t tensor) const { return items_[item_[tensor]].offset; }
  std::uint64_t offset_of_item(std::uint32_t item) const { return items_[item].offset; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::vector<std::uint32_t> item_;  // by tensor
  std::vector<ArenaItem> items_;
};

}  // namespace

Result<NodeStore> NodeStore::create(const Model::State& model, const model::Node& node,
                                    const Machine& machine) {
  NodeStore store;
  if (is_convolution(node.op)) {
    auto weights = ConvWeights::create(model, node, machine);
    if (!weights) return std::move(weights).error();
    store.convolution = *std::move(weights);
    return store;
  }
  std::vector<std::vector<float>> consts;
  for (const std::uint32_t c : model.consts_of(node)) consts.push_back(floats_of(model, c));
  store.consts = std::make_shared<const std::vector<std::vector<float>>>(std::move(consts));
  return store;
}

std::size_t NodeStore::bytes() const {
  if (convolution) return convolution->bytes();
  std::size_t sum = 0;
  for (const auto& c : *consts) sum += c.size() * sizeof(float);
  return sum;
}

Result<Plan> make_plan(const Model::State& model, const std::vector<Dims>& shapes,
                       std::vector<NodeStore>& nodes, const Machine& machine) {
  Plan plan;
  const auto count = static_cast<std::uint32_t>(model.nodes.size());
  // The last step that reads each tensor; results live on after all steps.
  std::vector<std::uint32_t> last_use(shapes.size(), 0);
  const Fusion fusion = merge_resizes(model);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (fusion.merged[i]) continue;
    for (const std::uint32_t t : fusion.inputs[i]) last_use[t] = i;
  }
  for (const std::uint32_t t : model.outputs) last_use[t] = count;

  // What takes long is the code that oneDNN makes; nodes share nothing.
  std::vector<Step> convolutions(count);
  each_task(count, machine.threads, [&](std::size_t i, int) {
    const model::Node& node = model.nodes[i];
    if (!is_convolution(node.op)) return;
    convolutions[i] = convolution(node, shapes[model.inputs_of(node)[0]], shapes[node.output],
                                  *nodes[i].convolution, machine);
  });

  Placement placement(shapes);
  placement.make(model.header.input_tensor, shapes[model.header.input_tensor], 0);
  std::vector<std::uint32_t> scratch(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (fusion.merged[i]) continue;
    const model::Node& node = model.nodes[i];
    const std::vector<std::uint32_t>& inputs = fusion.inputs[i];
    StepRequest request{node, {}, shapes[node.output], machine.threads, nodes[i].consts};
    for (const std::uint32_t t : inputs) request.inputs.push_back(shapes[t]);
    PlannedStep planned;
    planned.node = i;
    planned.step = is_convolution(node.op) ? std::move(convolutions[i]) : own_step(request);
    const bool in_place = planned.step.in_place && last_use[inputs[0]] == i &&
                          shapes[inputs[0]] == request.output &&
                          std::count(inputs.begin(), inputs.end(), inputs[0]) == 1;
    if (in_place) {
      placement.make_in(node.output, inputs[0], i);
    } else {
      placement.make(node.output, request.output, i);
    }
    for (const std::uint32_t t : inputs) placement.use(t, i);
    scratch[i] = placement.scratch(planned.step.scratch_bytes, i);
    plan.steps.push_back(std::move(planned));
  }
  for (const std::uint32_t t : model.outputs) placement.use(t, count);
  auto bytes = placement.pack();
  if (!bytes) return std::move(bytes).error();
  plan.arena_bytes = *bytes;
  for (PlannedStep& s : plan.steps) {
    const model::Node& node = model.nodes[s.node];
    for (const std::uint32_t t : fusion.inputs[s.node]) {
      s.inputs.push_back(placement.offset(t));
    }
    s.output = placement.offset(node.output);
    s.values = values_of(shapes[node.output]);
    s.scratch = placement.offset_of_item(scratch[s.node]);
  }
  const auto place = [&](std::uint32_t t) { return PlannedTensor{shapes[t], placement.offset(t)}; };
  plan.input = place(model.header.input_tensor);
  for (const std::uint32_t t : model.outputs) plan.outputs.push_back(place(t));
  return plan;
}

}  // namespace spirkiln::cpu
