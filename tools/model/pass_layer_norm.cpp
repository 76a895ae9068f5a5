// SPDX-License-Identifier: Apache-2.0
// Layer normalisation over the channels, as exports spell it out:
//   d = x - mean(x);  y = d / sqrt(mean(d * d) + epsilon)  (* gamma + beta)
#include "passes.hpp"

namespace spirkiln::packer {
namespace {

class Matcher {
 public:
  Matcher(const Graph& graph, const Links& links) : graph_(graph), links_(links) {}

  const Node* maker(int tensor, Kind kind) const {
    const int p = links_.producer[static_cast<std::size_t>(tensor)];
    if (p < 0) return nullptr;
    const Node& n = graph_.nodes[static_cast<std::size_t>(p)];
    return !n.dead && n.kind == kind && n.plain_epilogue() ? &n : nullptr;
  }

  // x and epsilon where `divide` is the last step of the pattern.
  bool match(const Node& divide, int* x, double* epsilon) const {
    const int d = divide.inputs[0];
    const Node* root = maker(divide.inputs[1], Kind::kSqrt);
    const Node* sub = maker(d, Kind::kBinary);
    if (root == nullptr || sub == nullptr || sub->binary != model::BinaryOp::kSub) return false;
    const Node* mean = maker(sub->inputs[1], Kind::kMeanC);
    if (mean == nullptr || mean->inputs[0] != sub->inputs[0]) return false;

    int variance = root->inputs[0];
    *epsilon = 0;
    if (const Node* plus = maker(variance, Kind::kAffine)) {
      if (plus->scale != std::vector<double>{1} || plus->bias.size() != 1 || plus->bias[0] < 0) {
        return false;
      }
      *epsilon = plus->bias[0];
      variance = plus->inputs[0];
    }
    const Node* second = maker(variance, Kind::kMeanC);
    if (second == nullptr) return false;
    const Node* square = maker(second->inputs[0], Kind::kSquare);
    const Node* product = maker(second->inputs[0], Kind::kBinary);
    const bool squared = square != nullptr && square->inputs[0] == d;
    const bool multiplied = product != nullptr && product->binary == model::BinaryOp::kMul &&
                            product->inputs[0] == d && product->inputs[1] == d;
    if (!squared && !multiplied) return false;
    *x = sub->inputs[0];
    return true;
  }

 private:
  const Graph& graph_;
  const Links& links_;
};

}  // namespace

bool pass_layer_norm(Graph& graph) {
  const Links links(graph);
  const Matcher matcher(graph, links);
  for (Node& n : graph.nodes) {
    if (n.kind == Kind::kBinary && n.binary == model::BinaryOp::kDiv && n.plain_epilogue()) {
      int x = -1;
      double epsilon = 0;
      if (!matcher.match(n, &x, &epsilon)) continue;
      n.kind = Kind::kLayerNorm;
      n.inputs = {x};
      n.epsilon = epsilon;
      const auto c = graph.tensors[static_cast<std::size_t>(x)].dims[kC].constant();
      n.scale.assign(static_cast<std::size_t>(*c), 1);
      n.bias.assign(static_cast<std::size_t>(*c), 0);
      return true;
    }
    if (is_affine(n)) {
      const int p = links.private_producer(n.inputs[0]);
      if (p < 0) continue;
      Node& before = graph.nodes[static_cast<std::size_t>(p)];
      if (before.kind != Kind::kLayerNorm) continue;
      scale_channels(before.scale, before.bias, n.scale, n.bias);
      before.output = n.output;
      before.name = n.name;
      n.dead = true;
      return true;
    }
  }
  return false;
}

}  // namespace spirkiln::packer
