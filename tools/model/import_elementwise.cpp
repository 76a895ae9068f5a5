// SPDX-License-Identifier: Apache-2.0
// Operators that act on each element, or along the channels.
#include "importer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace spirkiln::packer {

using model::Activation;
using model::BinaryOp;

Value Importer::unary(const OnnxNode& node) {
  const Value& in = input(node, 0);
  if (is_literal(in)) return fold_unary(node);
  if (std::holds_alternative<ShapeValue>(in)) {
    if (node.op == "Neg") return shape_arithmetic(node);
    fail(node, "it is not supported on a value that comes from a shape");
  }
  const View x = elementwise(node, 0);
  if (node.op == "Neg") return affine(node, x, {-1}, {0});
  const Dims dims = dims_of(x);
  Node n = new_node(node, Kind::kAffine, {x.tensor});
  n.scale = {1};
  n.bias = {0};
  if (node.op == "Relu") {
    n.act = Activation::kRelu;
  } else if (node.op == "Sigmoid") {
    n.act = Activation::kSigmoid;
  } else if (node.op == "HardSigmoid" || node.op == "HardSwish") {
    const bool swish = node.op == "HardSwish";
    n.act = swish ? Activation::kHardSwish : Activation::kHardSigmoid;
    n.act_a = swish ? 1.0 / 6 : attr_float(node, "alpha", 0.2);
    n.act_b = swish ? 0.5 : attr_float(node, "beta", 0.5);
  } else if (node.op == "Clip") {
    constexpr double kLargest = std::numeric_limits<float>::max();
    const bool by_input = onnx_.opset >= 11;
    n.act = Activation::kClip;
    n.act_a = by_input ? (has_input(node, 1) ? scalar(node, 1) : -kLargest)
                       : attr_float(node, "min", -kLargest);
    n.act_b = by_input ? (has_input(node, 2) ? scalar(node, 2) : kLargest)
                       : attr_float(node, "max", kLargest);
    if (n.act_a > n.act_b) {
      fail(node, fmt::format("its minimum {} is above its maximum {}", n.act_a, n.act_b));
    }
    if (n.act_a == 0 && n.act_b == kLargest) n.act = Activation::kRelu;
  } else if (node.op == "Pow") {
    const double exponent = scalar(node, 1);
    if (exponent != 2) {
      fail(node, fmt::format("the exponent {} is not supported (only 2, as part of a layer "
                             "normalisation, is)",
                             exponent));
    }
    n.kind = Kind::kSquare;
  } else if (node.op == "Sqrt") {
    n.kind = Kind::kSqrt;
  } else if (node.op == "Erf") {
    n.kind = Kind::kErf;
  }
  View result = x;
  result.tensor = finish(node, std::move(n), dims);
  return result;
}

Value Importer::affine(const OnnxNode& node, const View& x, std::vector<double> scale,
                       std::vector<double> bias) {
  const Dims dims = dims_of(x);
  Node n = new_node(node, Kind::kAffine, {x.tensor});
  n.scale = std::move(scale);
  n.bias = std::move(bias);
  View result = x;
  result.tensor = finish(node, std::move(n), dims);
  return result;
}

Value Importer::binary(const OnnxNode& node) {
  if (node.inputs.size() != 2) {
    fail(node, fmt::format("it has {} inputs, 2 are expected", node.inputs.size()));
  }
  // Axes that were aligned by attributes (operator sets below 7) are refused as unknown attributes.
  const Value &a = input(node, 0), &b = input(node, 1);
  const bool view_a = std::holds_alternative<View>(a), view_b = std::holds_alternative<View>(b);
  const BinaryOp op = node.op == "Add"   ? BinaryOp::kAdd
                      : node.op == "Sub" ? BinaryOp::kSub
                      : node.op == "Mul" ? BinaryOp::kMul
                                         : BinaryOp::kDiv;
  if (!view_a && !view_b) {
    // An attention's scores may be scaled between the two products.
    for (std::size_t i = 0; i < 2; ++i) {
      if (const auto* s = std::get_if<Scores>(&input(node, i)); s != nullptr && !s->normalised) {
        const bool mul = op == BinaryOp::kMul;
        if (!mul && !(op == BinaryOp::kDiv && i == 0)) break;
        Scores scaled = *s;
        const double c = scalar(node, 1 - i);
        scaled.factor = mul ? s->factor * c : s->factor / c;
        return scaled;
      }
    }
    if (holds_float_literal(node, 0) && holds_float_literal(node, 1)) return fold_binary(node);
    return shape_arithmetic(node);
  }
  if (view_a && view_b) return binary_views(node, op, view(node, 0), view(node, 1));
  const std::size_t constant_at = view_a ? 1 : 0;
  const Literal c = literal(node, constant_at);
  if (c.type != ElementType::kFloat) {
    fail(node,
         fmt::format("input {} ('{}') holds integers", constant_at, node.inputs[constant_at]));
  }
  return binary_literal(node, op, view(node, 1 - constant_at), c, constant_at == 0);
}

Value Importer::binary_literal(const OnnxNode& node, BinaryOp op, const View& x, const Literal& c,
                               bool literal_first) {
  const std::string name = node.inputs[literal_first ? 0 : 1];
  if (op == BinaryOp::kDiv && literal_first) {
    fail(node,
         fmt::format("a constant ('{}') divided by a computed tensor is not supported", name));
  }
  if (op == BinaryOp::kDiv &&
      std::any_of(c.floats.begin(), c.floats.end(), [](float v) { return v == 0; })) {
    fail(node, fmt::format("its divisor '{}' holds a zero", name));
  }
  // A factor on a part of a tensor waits for the attention that reads it.
  if (!is_bijective(graph_.syms, x, dims_of(x))) {
    if (c.elements() == 1 && (op == BinaryOp::kMul || op == BinaryOp::kDiv)) {
      View scaled = x;
      scaled.factor = op == BinaryOp::kMul ? x.factor * c.floats[0] : x.factor / c.floats[0];
      return scaled;
    }
    fail(node, "its input is a part of a tensor; only attention reads parts");
  }
  // The constant: one number, or one for each channel.
  View target = x;
  while (target.rank() < c.dims.size()) target.axes.insert(target.axes.begin(), Axis{});
  for (std::size_t i = 0; i < c.dims.size(); ++i) {
    const std::size_t axis = target.rank() - c.dims.size() + i;
    if (c.dims[i] == 1) continue;
    if (static_cast<std::int64_t>(c.elements()) != c.dims[i] ||
        !axis_is_all_channels(target, axis) || !dims_of(x)[kC].is(c.dims[i])) {
      fail(node, fmt::format("the constant '{}' of shape {} is neither one number nor one for each "
                             "channel of {}",
                             name, c.dims, shape_text(graph_.syms, view_shape(graph_.syms, x))));
    }
  }
  if (c.elements() == 0) fail(node, fmt::format("the constant '{}' is empty", name));
  const std::size_t n = c.elements();
  std::vector<double> scale(n, 1), bias(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const double v = c.floats[i];
    switch (op) {
      case BinaryOp::kAdd:
        bias[i] = v;
        break;
      case BinaryOp::kSub:
        scale[i] = literal_first ? -1 : 1;
        bias[i] = literal_first ? v : -v;
        break;
      case BinaryOp::kMul:
        scale[i] = v;
        break;
      case BinaryOp::kDiv:
        scale[i] = 1 / v;
        break;
    }
  }
  return affine(node, target, std::move(scale), std::move(bias));
}

Value Importer::binary_views(const OnnxNode& node, BinaryOp op, View x, View y) {
  elementwise(node, 0);
  elementwise(node, 1);
  while (x.rank() < y.rank()) x.axes.insert(x.axes.begin(), Axis{});
  while (y.rank() < x.rank()) y.axes.insert(y.axes.begin(), Axis{});
  // Which side is stretched along some axis? A size that is not known to be 1 is taken to be
  // equal, and required.
  bool x_small = false, y_small = false;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (x.axes[i].empty() != y.axes[i].empty()) (x.axes[i].empty() ? x_small : y_small) = true;
  }
  if (x_small && y_small) fail(node, "both of its inputs would have to be stretched");
  if (x_small) {
    if (op == BinaryOp::kSub || op == BinaryOp::kDiv) {
      fail(node,
           "its first input would have to be stretched to the second one's shape, which is "
           "not supported");
    }
    std::swap(x, y);
  }
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!y.axes[i].empty()) require_same_axis(node, i, x.axes[i], y.axes[i]);
  }
  const Dims dx = dims_of(x), dy = dims_of(y);
  bool same[4];
  for (std::size_t d = 0; d < 4; ++d) same[d] = !dy[d].is(1) || dx[d].is(1);
  const bool spatial = same[kH] && same[kW];
  const bool flat = dy[kH].is(1) && dy[kW].is(1);
  const bool legal = (same[kN] && spatial && same[kC]) || (flat && same[kC]) ||
                     (same[kN] && spatial && dy[kC].is(1));
  if (!legal) {
    fail(node, fmt::format("stretching {} to {} (N, H, W, C) is not supported",
                           shape_text(graph_.syms, {dy[0], dy[1], dy[2], dy[3]}),
                           shape_text(graph_.syms, {dx[0], dx[1], dx[2], dx[3]})));
  }
  Node n = new_node(node, Kind::kBinary, {x.tensor, y.tensor});
  n.binary = op;
  View result = x;
  result.tensor = finish(node, std::move(n), dx);
  return result;
}

Value Importer::reduce_mean(const OnnxNode& node) {
  const View x = elementwise(node, 0);
  const Dims dims = dims_of(x);
  const bool keep = attr_int(node, "keepdims", 1) != 0;
  expect_int(node, "noop_with_empty_axes", 0);
  const auto raw = axes_argument(node, 1);
  std::vector<std::size_t> axes;
  for (const std::int64_t a : raw) axes.push_back(axis_index(node, a, x.rank()));
  std::sort(axes.begin(), axes.end());
  View result = x;
  Node n = new_node(node, Kind::kMeanC, {x.tensor});
  Dims out = dims;
  if (axes.size() == 1 && axis_is_all_channels(x, axes[0])) {
    out[kC] = 1;
  } else if (axes.size() == 2 && x.axes[axes[0]] == Axis{{kH, dims[kH], 1}} &&
             x.axes[axes[1]] == Axis{{kW, dims[kW], 1}}) {
    n.kind = Kind::kGlobalMean;
    out[kH] = out[kW] = 1;
  } else {
    fail(node, fmt::format("attribute axes = {} is not supported (all channels, or height and "
                           "width, are)",
                           raw));
  }
  for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
    result.axes[*it].clear();
    if (!keep) result.axes.erase(result.axes.begin() + static_cast<std::ptrdiff_t>(*it));
  }
  result.tensor = finish(node, std::move(n), out);
  return result;
}

Value Importer::softmax(const OnnxNode& node) {
  const std::int64_t axis = attr_int(node, "axis", onnx_.opset >= 13 ? -1 : 1);
  if (const auto* s = std::get_if<Scores>(&input(node, 0))) {
    if (axis_index(node, axis, s->q.rank()) + 1 != s->q.rank() || s->normalised) {
      fail(node, fmt::format("attribute axis = {} is not supported on attention scores (only the "
                             "last is)",
                             axis));
    }
    Scores result = *s;
    result.normalised = true;
    return result;
  }
  const View x = elementwise(node, 0);
  const std::size_t a = axis_index(node, axis, x.rank());
  if (a + 1 != x.rank() || !axis_is_all_channels(x, a)) {
    fail(node, fmt::format("attribute axis = {} is not supported (only the last axis, where it "
                           "holds the channels, is)",
                           axis));
  }
  const Dims dims = dims_of(x);
  View result = x;
  result.tensor = finish(node, new_node(node, Kind::kSoftmax, {x.tensor}), dims);
  return result;
}

Value Importer::concat(const OnnxNode& node) {
  if (node.inputs.empty()) fail(node, "it has no input");
  bool any_view = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    any_view = any_view || std::holds_alternative<View>(input(node, i));
  }
  if (!any_view) {
    bool all_floats = true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      all_floats = all_floats && holds_float_literal(node, i);
    }
    return all_floats ? fold_concat(node) : shape_concat(node);
  }
  if (node.inputs.size() > 8) {
    fail(node, fmt::format("it has {} inputs, at most 8 are supported", node.inputs.size()));
  }
  const View first = elementwise(node, 0);
  const std::size_t axis = axis_index(node, attr_int(node, "axis", 1), first.rank());
  Dims dims = dims_of(first);
  Sym channels = 0;
  Node n = new_node(node, Kind::kConcat, {});
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const View& x = elementwise(node, i);
    if (x.rank() != first.rank()) fail(node, "its inputs differ in rank");
    if (!axis_is_all_channels(x, axis)) {
      fail(node, fmt::format("attribute axis = {} is not supported (only the channels are)", axis));
    }
    for (std::size_t k = 0; k < x.rank(); ++k) {
      if (k != axis) require_same_axis(node, k, first.axes[k], x.axes[k]);
    }
    channels = graph_.syms.add(channels, dims_of(x)[kC]);
    n.inputs.push_back(x.tensor);
  }
  dims[kC] = channels;
  View result = first;
  result.axes[axis] = channels.is(1) ? Axis{} : Axis{{kC, channels, 1}};
  result.tensor = finish(node, std::move(n), dims);
  return result;
}

}  // namespace spirkiln::packer
