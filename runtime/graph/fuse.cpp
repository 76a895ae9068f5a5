// SPDX-License-Identifier: Apache-2.0
#include "graph/fuse.hpp"

#include <algorithm>

namespace spirkiln {
namespace {

class Fuser {
 public:
  Fuser(const Model::State& model, const std::vector<Dims>& shapes, const DeviceTraits& traits,
        const Lowering& lowering)
      : model_(model),
        shapes_(shapes),
        traits_(traits),
        lowering_(lowering),
        readers_(model.tensors.size()),
        writers_(model.tensors.size()) {
    for (const model::Node& n : model.nodes) {
      for (const std::uint32_t t : model.inputs_of(n)) readers_[t].push_back(&n);
      writers_[n.output] = &n;
    }
    groups_.at.resize(model.nodes.size());
    groups_.inside.resize(model.nodes.size());
  }

  // Nothing fused so far.
  NodeGroups none() { return std::move(groups_); }
  NodeGroups run(OutputForm outputs) {
    try_stem();
    for (const model::Node& n : model_.nodes) try_scale(n);
    for (const model::Node& n : model_.nodes) try_gate(n);
    for (const model::Node& n : model_.nodes) try_separable(n);
    for (const model::Node& n : model_.nodes) try_transformer(n);
    for (const std::uint32_t t : model_.outputs) {
      if (outputs != OutputForm::kBest) try_head(t, outputs);
    }
    return std::move(groups_);
  }

 private:
  std::size_t index(const model::Node& n) const {
    return static_cast<std::size_t>(&n - model_.nodes.data());
  }
  std::uint32_t input(const model::Node& n, std::size_t i) const { return model_.inputs_of(n)[i]; }
  LowerRequest request(const model::Node& n) const {
    return lower_request(model_, shapes_, traits_, n);
  }
  bool leaves(std::uint32_t tensor) const {
    return std::count(model_.outputs.begin(), model_.outputs.end(), tensor) != 0;
  }
  // The node that alone reads a tensor, once; null where the caller gets it, too.
  const model::Node* only_reader(std::uint32_t tensor) const {
    return readers_[tensor].size() == 1 && !leaves(tensor) ? readers_[tensor].front() : nullptr;
  }
  // The node of this operator that makes input `i` of `n`, which alone reads it; else null.
  const model::Node* maker(const model::Node& n, std::size_t i, model::Op op) const {
    if (model_.inputs_of(n).size() <= i) return nullptr;
    const std::uint32_t t = input(n, i);
    const model::Node* writer = writers_[t];
    return writer != nullptr && writer->op == op && only_reader(t) == &n ? writer : nullptr;
  }

  // A group stands in its last node's place.
  void add(std::vector<const model::Node*> nodes, Lowered lowered) {
    for (const model::Node* n : nodes) groups_.inside[index(*n)] = n != nodes.back();
    std::optional<NodeGroup>& place = groups_.at[index(*nodes.back())];
    place = {std::move(nodes), std::move(lowered)};
  }
  bool taken(const model::Node& n) const {
    return groups_.at[index(n)].has_value() || groups_.inside[index(n)];
  }

  // The node of this operator that alone reads what `n` makes; null where `n` is.
  const model::Node* reader(const model::Node* n, model::Op op) const {
    const model::Node* r = n != nullptr ? only_reader(n->output) : nullptr;
    return r != nullptr && r->op == op ? r : nullptr;
  }
  // Whether a node of one operand has this residual.
  bool adds(const model::Node& n, std::uint32_t tensor) const {
    return (n.flags & model::kHasResidual) != 0 && n.input_count == 2 && input(n, 1) == tensor;
  }

  void try_stem() {
    const model::Node* conv = only_reader(model_.header.input_tensor);
    if (conv == nullptr) return;
    auto lowered =
        lowering_.stem(request(*conv), model_.header.input_scale, model_.header.input_shift);
    if (!lowered) return;
    groups_.at[index(*conv)] = {{conv}, *std::move(lowered)};
    groups_.reads_picture = true;
  }

  // A picture times the gate that squeeze-excite makes of its mean.
  void try_scale(const model::Node& product) {
    if (product.op != model::Op::kBinary) return;
    const model::Node* gate = maker(product, 1, model::Op::kSqueezeExcite);
    const model::Node* mean = gate != nullptr ? maker(*gate, 0, model::Op::kGlobalMean) : nullptr;
    if (mean == nullptr || input(*mean, 0) != input(product, 0)) return;
    auto lowered = lowering_.scale(request(*mean), request(*gate), request(product));
    if (!lowered) return;
    add({mean, gate, &product}, *std::move(lowered));
  }

  // The gate and the mean alone.
  void try_gate(const model::Node& gate) {
    if (gate.op != model::Op::kSqueezeExcite || groups_.inside[index(gate)]) return;
    const model::Node* mean = maker(gate, 0, model::Op::kGlobalMean);
    if (mean == nullptr || gate.flags != 0) return;
    auto lowered = lowering_.gate(request(*mean), request(gate));
    if (!lowered) return;
    add({mean, &gate}, *std::move(lowered));
  }

  // A pointwise convolution and the depthwise one before it.
  void try_separable(const model::Node& point) {
    if (point.op != model::Op::kConv || taken(point)) return;
    const model::Node* window = maker(point, 0, model::Op::kDepthwise);
    if (window == nullptr || taken(*window)) return;
    auto lowered = lowering_.separable(request(*window), request(point));
    if (!lowered) return;
    add({window, &point}, *std::move(lowered));
  }

  // From a layer norm on: attention, and two products behind another norm, each with what went in
  // added.
  void try_transformer(const model::Node& norm) {
    if (norm.op != model::Op::kLayerNorm || norm.input_count != 1) return;
    const model::Node* qkv = reader(&norm, model::Op::kConv);
    const model::Node* attention = reader(qkv, model::Op::kAttention);
    const model::Node* projection = reader(attention, model::Op::kConv);
    if (projection == nullptr || !adds(*projection, input(norm, 0)) || leaves(projection->output))
      return;
    // The sum is read twice: by the second norm, and to be added.
    const auto& readers = readers_[projection->output];
    if (readers.size() != 2) return;
    const bool norm_first = readers[0]->op == model::Op::kLayerNorm;
    const model::Node* second = norm_first ? readers[0] : readers[1];
    const model::Node* down = norm_first ? readers[1] : readers[0];
    if (second->op != model::Op::kLayerNorm || down->op != model::Op::kConv) return;
    const model::Node* up = reader(second, model::Op::kConv);
    if (up == nullptr || reader(up, model::Op::kConv) != down || !adds(*down, projection->output))
      return;
    std::vector<const model::Node*> nodes{&norm, qkv, attention, projection, second, up, down};
    if (const model::Node* last = reader(down, model::Op::kLayerNorm)) {
      nodes.push_back(last);
      if (add_transformer(nodes)) return;
      nodes.pop_back();
    }
    add_transformer(nodes);
  }
  bool add_transformer(const std::vector<const model::Node*>& nodes) {
    TransformerNodes requests;
    for (const model::Node* n : nodes) {
      if (taken(*n)) return false;
      requests.push_back(request(*n));
    }
    auto lowered = lowering_.transformer(requests);
    if (!lowered) return false;
    add(nodes, *std::move(lowered));
    return true;
  }

  // An output's node that can write what the caller gets itself.
  void try_head(std::uint32_t output, OutputForm form) {
    const model::Node* n = writers_[output];
    const auto times = std::count(model_.outputs.begin(), model_.outputs.end(), output);
    if (n == nullptr || times != 1 || !readers_[output].empty() || groups_.at[index(*n)]) return;
    auto lowered =
        (form == OutputForm::kBytes ? lowering_.head_bytes : lowering_.head)(request(*n));
    if (lowered) groups_.at[index(*n)] = {{n}, *std::move(lowered)};
  }

  const Model::State& model_;
  const std::vector<Dims>& shapes_;
  const DeviceTraits& traits_;
  const Lowering& lowering_;
  std::vector<std::vector<const model::Node*>> readers_;  // by tensor; twice who reads it twice
  std::vector<const model::Node*> writers_;
  NodeGroups groups_;
};

}  // namespace

LowerRequest lower_request(const Model::State& model, const std::vector<Dims>& shapes,
                           const DeviceTraits& traits, const model::Node& node) {
  LowerRequest request{node, {}, shapes[node.output], traits};
  for (const std::uint32_t t : model.inputs_of(node)) request.inputs.push_back(shapes[t]);
  return request;
}

NodeGroups fuse_nodes(const Model::State& model, const std::vector<Dims>& shapes,
                      const DeviceTraits& traits, const Lowering& lowering, bool whole,
                      OutputForm outputs) {
  Fuser fuser(model, shapes, traits, lowering);
  return whole ? fuser.run(outputs) : fuser.none();
}

}  // namespace spirkiln
