// SPDX-License-Identifier: Apache-2.0
// Operators that only rearrange: on computed tensors they change the view, on constants the dims.
#include "importer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace spirkiln::packer {
namespace {

std::vector<std::int64_t>& dims_of_constant(Value& value) {
  if (auto* l = std::get_if<Literal>(&value)) return l->dims;
  return std::get<ShapeValue>(value).dims;
}

bool is_constant(const Value& value) {
  return std::holds_alternative<Literal>(value) || std::holds_alternative<ShapeValue>(value);
}

}  // namespace

Value Importer::identity(const OnnxNode& node) { return input(node, 0); }

Value Importer::cast(const OnnxNode& node) {
  const std::int64_t to = attr_int(node, "to", 0);
  constexpr std::int64_t kFloat = 1, kInt32 = 6, kInt64 = 7;
  expect_int(node, "saturate", 1);
  if (to != kFloat && to != kInt32 && to != kInt64) {
    fail(node,
         fmt::format("attribute to = {} is not supported (1 FLOAT, 6 INT32 and 7 INT64 are)", to));
  }
  const Value& in = input(node, 0);
  if (const auto* v = std::get_if<View>(&in)) {
    if (to != kFloat) fail(node, "a computed tensor cannot become integers");
    return *v;
  }
  if (const auto* l = std::get_if<Literal>(&in)) {
    Literal result = *l;
    if (to == kFloat && l->type != ElementType::kFloat) {
      result.type = ElementType::kFloat;
      result.floats.assign(l->ints.begin(), l->ints.end());
      result.ints.clear();
    } else if (to != kFloat && l->type == ElementType::kFloat) {
      result.type = ElementType::kInt;
      for (const float f : l->floats) {
        if (!(f > -9e18F && f < 9e18F)) fail(node, fmt::format("{} is no 64-bit integer", f));
        result.ints.push_back(static_cast<std::int64_t>(f));
      }
      result.floats.clear();
    } else if (to != kFloat) {
      result.type = ElementType::kInt;
    }
    return result;
  }
  if (!std::holds_alternative<ShapeValue>(in))
    fail(node, "it is not supported on attention scores");
  ShapeValue s = std::get<ShapeValue>(in);
  if (to != kFloat) {
    for (Rational& r : s.values) {
      if (r.den == 1) continue;
      require_non_negative(node, r.num);  // a cast rounds towards zero, we round down
      r = {graph_.syms.floor_div(r.num, r.den), 1};
    }
  }
  s.is_float = to == kFloat;
  return s;
}

Value Importer::reshape_op(const OnnxNode& node) {
  expect_int(node, "allowzero", 0);
  const ShapeValue wanted = shape_value(node, 1);
  if (wanted.values.size() > 8) {
    fail(node, fmt::format("its result has rank {}, at most 8 is supported", wanted.values.size()));
  }
  auto& syms = graph_.syms;
  std::vector<Sym> old;
  const Value& in = input(node, 0);
  if (const auto* v = std::get_if<View>(&in)) {
    old = view_shape(syms, *v);
  } else if (is_constant(in)) {
    Value copy = in;
    for (const std::int64_t d : dims_of_constant(copy)) old.push_back(d);
  } else {
    fail(node, "it is not supported on attention scores");
  }
  Sym total = 1;
  for (const Sym& s : old) total = syms.mul(total, s);

  std::vector<Sym> shape;
  std::size_t open = wanted.values.size();
  Sym known = 1;
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    if (wanted.values[i].den != 1) fail(node, "its shape is not whole");
    Sym s = wanted.values[i].num;
    if (s.is(-1)) {
      if (open != wanted.values.size()) fail(node, "its shape has -1 twice");
      open = i;
      s = 1;
    } else if (s.is(0)) {
      if (i >= old.size())
        fail(node, fmt::format("its shape copies axis {}, which is not there", i));
      s = old[i];
    } else if (const auto c = s.constant(); c && *c < 0) {
      fail(node, fmt::format("its shape has {}", *c));
    }
    known = syms.mul(known, s);
    shape.push_back(s);
  }
  if (open != wanted.values.size()) {
    shape[open] = syms.exact_div(total, known);
  } else if (!(known == total)) {
    // Exports for one size write the sizes down; then only that size will do.
    graph_.require_equal(
        total, known, fmt::format("the elements that node '{}' (Reshape) rearranges", node.name));
  }
  if (const auto* v = std::get_if<View>(&in)) return reshape(syms, *v, shape);
  Value copy = in;
  auto& dims = dims_of_constant(copy);
  dims.clear();
  for (const Sym& s : shape) {
    const auto c = s.constant();
    if (!c) fail(node, "a constant cannot take a shape that depends on the input");
    dims.push_back(*c);
  }
  return copy;
}

Value Importer::flatten(const OnnxNode& node) {
  const View& v = view(node, 0);
  const std::int64_t raw = attr_int(node, "axis", 1);
  const std::size_t axis =
      raw == static_cast<std::int64_t>(v.rank()) ? v.rank() : axis_index(node, raw, v.rank());
  auto& syms = graph_.syms;
  const auto shape = view_shape(syms, v);
  Sym outer = 1, inner = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Sym& side = i < axis ? outer : inner;
    side = syms.mul(side, shape[i]);
  }
  return reshape(syms, v, {outer, inner});
}

Value Importer::transpose_op(const OnnxNode& node) {
  const Value& in = input(node, 0);
  std::size_t rank = 0;
  if (const auto* v = std::get_if<View>(&in)) {
    rank = v->rank();
  } else if (const auto* l = std::get_if<Literal>(&in)) {
    rank = l->dims.size();
  } else {
    fail(node, "it is supported on computed tensors and constants only");
  }
  auto raw = attr_ints(node, "perm");
  if (raw.empty()) {
    for (std::size_t i = rank; i-- > 0;) raw.push_back(static_cast<std::int64_t>(i));
  }
  std::vector<std::size_t> perm;
  std::vector<bool> seen(rank, false);
  for (const std::int64_t p : raw) {
    const bool ok =
        p >= 0 && static_cast<std::size_t>(p) < rank && !seen[static_cast<std::size_t>(p)];
    if (!ok || raw.size() != rank) {
      fail(node, fmt::format("attribute perm = {} is no permutation of {} axes", raw, rank));
    }
    seen[static_cast<std::size_t>(p)] = true;
    perm.push_back(static_cast<std::size_t>(p));
  }
  if (const auto* v = std::get_if<View>(&in)) return transpose(*v, perm);

  const Literal& l = std::get<Literal>(in);
  Literal result = l;
  std::vector<std::size_t> stride(rank, 1);
  for (std::size_t i = rank; i-- > 1;) {
    stride[i - 1] = stride[i] * static_cast<std::size_t>(l.dims[i]);
  }
  for (std::size_t i = 0; i < rank; ++i) result.dims[i] = l.dims[perm[i]];
  std::vector<std::size_t> index(rank, 0);
  for (std::size_t e = 0; e < l.elements(); ++e) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < rank; ++i) from += index[i] * stride[perm[i]];
    if (l.type == ElementType::kFloat) {
      result.floats[e] = l.floats[from];
    } else {
      result.ints[e] = l.ints[from];
    }
    for (std::size_t i = rank; i-- > 0;) {
      if (++index[i] < static_cast<std::size_t>(result.dims[i])) break;
      index[i] = 0;
    }
  }
  return result;
}

Value Importer::squeeze(const OnnxNode& node) {
  const auto raw = axes_argument(node, 1);
  Value result = input(node, 0);
  auto* v = std::get_if<View>(&result);
  if (v == nullptr && !is_constant(result)) fail(node, "it is not supported on attention scores");
  const std::size_t rank = v != nullptr ? v->rank() : dims_of_constant(result).size();
  std::vector<bool> drop(rank, false);
  if (raw.empty()) fail(node, "it names no axes; which ones have size 1 may depend on the input");
  for (const std::int64_t a : raw) drop[axis_index(node, a, rank)] = true;
  for (std::size_t i = rank; i-- > 0;) {
    if (!drop[i]) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    if (v != nullptr) {
      graph_.require_equal(axis_size(graph_.syms, v->axes[i]), 1,
                           fmt::format("axis {} that node '{}' (Squeeze) drops", i, node.name));
      if (!v->axes[i].empty()) {
        // The size is 1 by requirement only, so the stored dimension has to become 1 as well.
        Axis& axis = v->axes[i];
        const auto d = static_cast<std::size_t>(axis[0].dim);
        if (axis.size() != 1 || !(axis[0].size == dims_of(*v)[d])) {
          fail(node, fmt::format("axis {} is no whole stored dimension", i));
        }
        dims_of(*v)[d] = 1;
      }
      v->axes.erase(v->axes.begin() + at);
    } else {
      auto& dims = dims_of_constant(result);
      if (dims[i] != 1) fail(node, fmt::format("axis {} has size {}, not 1", i, dims[i]));
      dims.erase(dims.begin() + at);
    }
  }
  return result;
}

Value Importer::unsqueeze(const OnnxNode& node) {
  const auto raw = axes_argument(node, 1);
  Value result = input(node, 0);
  auto* v = std::get_if<View>(&result);
  if (v == nullptr && !is_constant(result)) fail(node, "it is not supported on attention scores");
  const std::size_t rank =
      raw.size() + (v != nullptr ? v->rank() : dims_of_constant(result).size());
  if (rank > 8) fail(node, fmt::format("its result has rank {}, at most 8 is supported", rank));
  std::vector<std::size_t> axes;
  for (const std::int64_t a : raw) axes.push_back(axis_index(node, a, rank));
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    fail(node, fmt::format("axes {} repeat", raw));
  }
  for (const std::size_t a : axes) {
    const auto at = static_cast<std::ptrdiff_t>(a);
    if (v != nullptr) {
      v->axes.insert(v->axes.begin() + at, Axis{});
    } else {
      auto& dims = dims_of_constant(result);
      dims.insert(dims.begin() + at, 1);
    }
  }
  return result;
}

Value Importer::slice_op(const OnnxNode& node) {
  const Value& in = input(node, 0);
  if (!std::holds_alternative<View>(in)) return shape_slice(node, shape_value(node, 0));
  const View& v = std::get<View>(in);
  const bool by_input = onnx_.opset >= 10;
  const auto starts = by_input ? const_ints(node, 1) : attr_ints(node, "starts");
  const auto ends = by_input ? const_ints(node, 2) : attr_ints(node, "ends");
  auto axes = by_input ? (has_input(node, 3) ? const_ints(node, 3) : std::vector<std::int64_t>{})
                       : attr_ints(node, "axes");
  if (by_input && has_input(node, 4)) {
    for (const std::int64_t step : const_ints(node, 4)) {
      if (step != 1) fail(node, fmt::format("a step of {} is not supported", step));
    }
  }
  if (axes.empty()) {
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (starts.size() != ends.size() || starts.size() != axes.size()) {
    fail(node, "its starts, ends and axes differ in number");
  }
  View result = v;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = axis_index(node, axes[i], v.rank());
    const auto size = axis_size(graph_.syms, result.axes[axis]).constant();
    if (!size) {
      fail(node, fmt::format("axis {} has a size that depends on the input; slicing it is not "
                             "supported",
                             axis));
    }
    const auto clamp = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + *size : at, 0, *size);
    };
    const std::int64_t from = clamp(starts[i]), to = clamp(ends[i]);
    if (from >= to) fail(node, fmt::format("the slice of axis {} is empty", axis));
    result = slice(graph_.syms, result, axis, from, to - from);
  }
  return result;
}

}  // namespace spirkiln::packer
