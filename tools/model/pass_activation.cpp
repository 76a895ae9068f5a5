// SPDX-License-Identifier: Apache-2.0
// Activations that an export spells out as a product of a tensor with a function of itself:
//   hard swish  x * clip(x + 3, 0, 6) / 6, wherever the constants stand
//   swish       x * sigmoid(x)
//   GELU        x * (1 + erf(x / sqrt 2)) * 0.5
// Both factors are followed back through scalar affine nodes to a tensor that they share.
#include "passes.hpp"

#include <cmath>
#include <optional>

namespace spirkiln::packer {
namespace {

using model::Activation;

// tensor t as s * x + b of an earlier tensor x.
struct Linear {
  int tensor;
  double s = 1, b = 0;
};

// t itself, then the tensors that t is a scalar affine function of: as many as any export has.
std::vector<Linear> linear_chain(const Graph& graph, const Links& links, int t) {
  std::vector<Linear> chain{{t}};
  for (;;) {
    if (chain.size() == 8) return chain;
    const Linear& last = chain.back();
    const int p = links.producer[static_cast<std::size_t>(last.tensor)];
    if (p < 0) return chain;
    const Node& n = graph.nodes[static_cast<std::size_t>(p)];
    if (n.dead || !is_scalar_affine(n)) return chain;
    chain.push_back({n.inputs[0], last.s * n.scale[0], last.s * n.bias[0] + last.b});
  }
}

// y = p * (post_s * f(arg_s * x + arg_b) + post_b)
struct Gate {
  Activation act;
  int x;
  double arg_s, arg_b, post_s, post_b, a = 0, b = 0;
  bool erf = false;
};

std::vector<Gate> gates_of(const Graph& graph, const Links& links, int t) {
  const Linear end = linear_chain(graph, links, t).back();
  const int p = links.producer[static_cast<std::size_t>(end.tensor)];
  if (p < 0) return {};
  const Node& f = graph.nodes[static_cast<std::size_t>(p)];
  Gate g{};
  g.post_s = end.s;
  g.post_b = end.b;
  double scale = 1, bias = 0;
  if (f.kind == Kind::kErf) {
    g.erf = true;
  } else if (f.kind == Kind::kAffine && f.scale.size() == 1 && f.bias.size() == 1 &&
             !f.has_residual && f.post_scale == 1 && f.post_bias == 0) {
    scale = f.scale[0];
    bias = f.bias[0];
    g.act = f.act;
    if (f.act == Activation::kClip && f.act_a == 0 && f.act_b > 0 && f.act_b < 1e30) {
      // clip(v, 0, h) = h * clamp(v / h, 0, 1)
      g.act = Activation::kHardSigmoid;
      g.a = 1 / f.act_b;
      g.b = 0;
      g.post_s *= f.act_b;
    } else if (f.act == Activation::kHardSigmoid) {
      g.a = f.act_a;
      g.b = f.act_b;
    } else if (f.act != Activation::kSigmoid) {
      return {};
    }
  } else {
    return {};
  }
  std::vector<Gate> gates;
  for (const Linear& l : linear_chain(graph, links, f.inputs[0])) {
    Gate one = g;
    one.x = l.tensor;
    one.arg_s = scale * l.s;
    one.arg_b = scale * l.b + bias;
    gates.push_back(one);
  }
  return gates;
}

struct Match {
  Activation act;
  int x;
  double a, b, post_scale;
};

std::optional<Match> match(const Graph& graph, const Links& links, int p, int q) {
  const auto gates = gates_of(graph, links, q);
  for (const Linear& l : linear_chain(graph, links, p)) {
    if (l.b != 0) continue;
    for (const Gate& g : gates) {
      if (g.x != l.tensor) continue;
      if (g.erf) {
        const bool gelu = g.arg_b == 0 && std::abs(g.arg_s * std::sqrt(2.0) - 1) < 1e-6 &&
                          std::abs(g.post_s - g.post_b) <= 1e-6 * std::abs(g.post_s);
        if (gelu) return Match{Activation::kGelu, g.x, 0, 0, 2 * l.s * g.post_s};
      } else if (g.post_b != 0) {
        continue;
      } else if (g.act == Activation::kSigmoid) {
        if (g.arg_s == 1 && g.arg_b == 0)
          return Match{Activation::kSwish, g.x, 0, 0, l.s * g.post_s};
      } else {
        return Match{Activation::kHardSwish, g.x, g.a * g.arg_s, g.a * g.arg_b + g.b,
                     l.s * g.post_s};
      }
    }
  }
  return std::nullopt;
}

// 6 * (1 / 6) in doubles from floats is 1 but for the last bits; a factor that close is none.
double snapped(double v) { return std::abs(v - 1) < 1e-7 ? 1 : v; }

}  // namespace

bool pass_activation(Graph& graph) {
  const Links links(graph);
  for (Node& n : graph.nodes) {
    if (n.kind != Kind::kBinary || n.binary != model::BinaryOp::kMul || !n.plain_epilogue()) {
      continue;
    }
    auto m = match(graph, links, n.inputs[0], n.inputs[1]);
    if (!m) m = match(graph, links, n.inputs[1], n.inputs[0]);
    if (!m) continue;
    n.kind = Kind::kAffine;
    n.inputs = {m->x};
    n.scale = {1};
    n.bias = {0};
    n.act = m->act;
    n.act_a = m->a;
    n.act_b = m->b;
    n.post_scale = snapped(m->post_scale);
    return true;
  }
  return false;
}

}  // namespace spirkiln::packer
