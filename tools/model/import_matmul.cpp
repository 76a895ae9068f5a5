// SPDX-License-Identifier: Apache-2.0
// Matrix products: with a constant they are 1x1 convolutions; two of computed tensors with a
// softmax between them are an attention.
#include "importer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace spirkiln::packer {

Value Importer::matmul(const OnnxNode& node) {
  const Value &a = input(node, 0), &b = input(node, 1);
  if (const auto* scores = std::get_if<Scores>(&a)) {
    return attention_result(node, *scores, view(node, 1));
  }
  const View& x = view(node, 0);
  if (std::holds_alternative<View>(b)) return attention_scores(node, x, view(node, 1));
  return matmul_constant(node, x, float_literal(node, 1), false, {});
}

Value Importer::gemm(const OnnxNode& node) {
  const View& x = view(node, 0);
  if (x.rank() != 2) fail(node, fmt::format("input 0 has rank {}, 2 is expected", x.rank()));
  const double alpha = attr_float(node, "alpha", 1), beta = attr_float(node, "beta", 1);
  if (alpha != 1) fail(node, fmt::format("attribute alpha = {} is not supported", alpha));
  if (beta != 1) fail(node, fmt::format("attribute beta = {} is not supported", beta));
  expect_int(node, "transA", 0);
  const bool transposed = attr_int(node, "transB", 0) != 0;
  std::vector<double> bias;
  if (has_input(node, 2)) {
    const Literal& c = float_literal(node, 2);
    for (std::size_t i = 0; i + 1 < c.dims.size(); ++i) {
      if (c.dims[i] != 1) fail(node, fmt::format("its bias has shape {}", c.dims));
    }
    bias.assign(c.floats.begin(), c.floats.end());
  }
  return matmul_constant(node, x, float_literal(node, 1), transposed, std::move(bias));
}

Value Importer::matmul_constant(const OnnxNode& node, const View& x, const Literal& w,
                                bool transposed, std::vector<double> bias) {
  elementwise(node, 0);
  if (w.dims.size() != 2) {
    fail(node,
         fmt::format("input 1 ('{}') has shape {}, a matrix is expected", node.inputs[1], w.dims));
  }
  if (x.rank() < 2 || !axis_is_all_channels(x, x.rank() - 1)) {
    fail(node, fmt::format("the last axis of input 0 ('{}', shape {}) must be all channels as they "
                           "are stored",
                           node.inputs[0], shape_text(graph_.syms, view_shape(graph_.syms, x))));
  }
  const std::int64_t cin = w.dims[transposed ? 1 : 0], cout = w.dims[transposed ? 0 : 1];
  Dims dims = dims_of(x);
  if (!dims[kC].is(cin)) {
    fail(node, fmt::format("its matrix has {} rows for {} channels", cin,
                           graph_.syms.to_string(dims[kC])));
  }
  if (cout < 1) fail(node, fmt::format("its matrix has shape {}", w.dims));
  Node n = new_node(node, Kind::kConv, {x.tensor});
  n.channels_in = static_cast<int>(cin);
  n.channels_out = static_cast<int>(cout);
  n.weights.name = node.inputs[1];
  n.weights.values = w.floats;
  if (!transposed) {
    for (std::int64_t i = 0; i < cin; ++i) {
      for (std::int64_t o = 0; o < cout; ++o) {
        n.weights.values[static_cast<std::size_t>(o * cin + i)] =
            w.floats[static_cast<std::size_t>(i * cout + o)];
      }
    }
  }
  const auto outs = static_cast<std::size_t>(cout);
  n.scale.assign(outs, 1);
  if (bias.size() == 1) bias.assign(outs, bias[0]);
  if (bias.empty()) bias.assign(outs, 0);
  if (bias.size() != outs) fail(node, fmt::format("its bias has {} values", bias.size()));
  n.bias = std::move(bias);
  dims[kC] = cout;
  View result = x;
  result.axes.back() = cout == 1 ? Axis{} : Axis{{kC, cout, 1}};
  result.tensor = finish(node, std::move(n), dims);
  return result;
}

// q is N x heads x T x dim, k is N x heads x dim x T; what they are in memory is checked when the
// block is complete.
Value Importer::attention_scores(const OnnxNode& node, const View& q, const View& k) {
  if (q.rank() != 4 || k.rank() != 4) {
    fail(node,
         "the product of two computed tensors is supported in an attention block only (rank "
         "4: batch, heads, steps, dim)");
  }
  Scores scores;
  scores.q = q;
  scores.k = k;
  scores.factor = q.factor * k.factor;
  return scores;
}

Value Importer::attention_result(const OnnxNode& node, const Scores& scores, const View& v) {
  auto& syms = graph_.syms;
  if (!scores.normalised) {
    fail(node,
         "the product of three computed tensors is supported with a softmax in between only "
         "(attention)");
  }
  const View &q = scores.q, &k = scores.k;
  if (v.rank() != 4 || v.factor != 1)
    fail(node, "its value input is not one of an attention block");
  const auto heads = axis_size(syms, q.axes[1]).constant();
  const auto dim = axis_size(syms, q.axes[3]).constant();
  if (!heads || !dim || q.tensor != k.tensor || q.tensor != v.tensor) {
    fail(node,
         "query, key and value of an attention block must be parts of one tensor, with fixed "
         "heads and dim");
  }
  const Dims dims = dims_of(q);
  const Sym width = *heads * *dim;
  const auto expect = [&](const View& part, std::int64_t index, bool swapped, const char* what) {
    View whole = whole_view(syms, part.tensor, dims, {kN, kW});
    View wanted;
    const Axis head = *heads == 1 ? Axis{} : Axis{{kC, *heads, *dim}};
    const Axis inner = *dim == 1 ? Axis{} : Axis{{kC, *dim, 1}};
    wanted.axes = {whole.axes[0], head, swapped ? inner : whole.axes[1],
                   swapped ? whole.axes[1] : inner};
    std::array<Sym, 4> offset{0, 0, 0, syms.mul(width, index)};
    if (part.axes != wanted.axes || part.offset != offset) {
      fail(node, fmt::format("the {} of this attention block does not lie in its tensor as one of "
                             "three parts, each {} heads of {}",
                             what, *heads, *dim));
    }
  };
  if (!dims[kH].is(1) || !(dims[kC] == syms.mul(width, 3))) {
    fail(node, fmt::format("an attention block needs a tensor of {} channels and height 1, it has "
                           "{} x {}",
                           3 * *heads * *dim, syms.to_string(dims[kC]), syms.to_string(dims[kH])));
  }
  expect(q, 0, false, "query");
  expect(k, 1, true, "key");
  expect(v, 2, false, "value");
  Node n = new_node(node, Kind::kAttention, {q.tensor});
  n.heads = static_cast<int>(*heads);
  n.head_dim = static_cast<int>(*dim);
  n.score_factor = scores.factor;
  const Dims out{dims[kN], 1, dims[kW], width};
  View result = v;
  result.offset = {};
  result.tensor = finish(node, std::move(n), out);
  return result;
}

}  // namespace spirkiln::packer
