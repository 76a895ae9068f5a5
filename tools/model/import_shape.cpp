// SPDX-License-Identifier: Apache-2.0
// Integers that an ONNX graph computes from its input's shape, as vectors of expressions.
#include "importer.hpp"

#include "pack_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace spirkiln::packer {
namespace {

// The row-major distance of each axis.
std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

Rational reduced(SymContext& syms, const Sym& num, std::int64_t den) {
  if (den == 1) return {num, 1};
  // Only a factor common to all coefficients can be dropped.
  std::int64_t g = den;
  for (const auto& [m, c] : num.terms()) g = std::gcd(g, c);
  return {*syms.quotient(num, g), den / g};
}

}  // namespace

Value Importer::constant(const OnnxNode& node) {
  for (const char* name : {"value", "value_float", "value_int", "value_floats", "value_ints"}) {
    const AttributeValue* a = attribute(node, name);
    if (a == nullptr) continue;
    if (const auto* t = std::get_if<Literal>(a)) return *t;
    Literal l;
    if (const auto* f = std::get_if<float>(a)) {
      l.floats = {*f};
    } else if (const auto* fs = std::get_if<std::vector<float>>(a)) {
      l.floats = *fs;
      l.dims = {static_cast<std::int64_t>(fs->size())};
    } else if (const auto* i = std::get_if<std::int64_t>(a)) {
      l.type = ElementType::kInt;
      l.ints = {*i};
    } else if (const auto* is = std::get_if<std::vector<std::int64_t>>(a)) {
      l.type = ElementType::kInt;
      l.ints = *is;
      l.dims = {static_cast<std::int64_t>(is->size())};
    } else {
      fail(node, fmt::format("attribute {} has an unexpected type", name));
    }
    for (const float f : l.floats) {
      if (f - f != 0) {
        throw PackError(ErrorCode::kNotFinite,
                        fmt::format("node '{}' (Constant): it holds {}, and constants must be "
                                    "finite",
                                    node.name, f));
      }
    }
    return l;
  }
  fail(node, "it has no value that is supported");
}

Value Importer::constant_of_shape(const OnnxNode& node) {
  const auto dims = const_ints(node, 0);
  Literal result;
  result.floats = {0};
  if (const AttributeValue* a = attribute(node, "value")) {
    const auto* t = std::get_if<Literal>(a);
    if (t == nullptr || t->elements() != 1) fail(node, "attribute value must be one number");
    result = *t;
  }
  std::int64_t count = 1;
  for (const std::int64_t d : dims) {
    if (d < 0 || d > 4096 || count * std::max<std::int64_t>(d, 1) > 4096) {
      fail(node, "a shape of more than 4096 elements is not supported");
    }
    count *= d;
  }
  result.dims = dims;
  const auto n = static_cast<std::size_t>(count);
  if (result.type == ElementType::kFloat) {
    result.floats.assign(n, result.floats[0]);
  } else {
    result.ints.assign(n, result.ints[0]);
  }
  return result;
}

Value Importer::shape(const OnnxNode& node) {
  const Value& in = input(node, 0);
  std::vector<Sym> all;
  if (const auto* v = std::get_if<View>(&in)) {
    all = view_shape(graph_.syms, *v);
  } else if (const auto* l = std::get_if<Literal>(&in)) {
    all.assign(l->dims.begin(), l->dims.end());
  } else if (const auto* s = std::get_if<ShapeValue>(&in)) {
    all.assign(s->dims.begin(), s->dims.end());
  } else {
    fail(node, "it is not supported on attention scores");
  }
  const auto rank = static_cast<std::int64_t>(all.size());
  const auto clamp = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t from = clamp(attr_int(node, "start", 0));
  const std::int64_t to = std::max(from, clamp(attr_int(node, "end", rank)));
  ShapeValue result;
  result.dims = {to - from};
  for (std::int64_t i = from; i < to; ++i) {
    result.values.push_back({all[static_cast<std::size_t>(i)], 1});
  }
  return result;
}

Value Importer::gather(const OnnxNode& node) {
  const ShapeValue data = shape_value(node, 0);
  if (data.dims.empty()) fail(node, "input 0 is one number");
  const std::size_t axis = axis_index(node, attr_int(node, "axis", 0), data.dims.size());
  const Literal indices = literal(node, 1);
  if (indices.type != ElementType::kInt) fail(node, "its indices must be integers");
  if (axis != 0 || data.dims.size() != 1) {
    fail(node, "it is supported on vectors that come from a shape only");
  }
  if (indices.ints.size() > 4096) fail(node, "its result is too long for a shape");
  ShapeValue result;
  result.is_float = data.is_float;
  result.dims = indices.dims;
  for (const std::int64_t i : indices.ints) {
    result.values.push_back(data.values[axis_index(node, i, data.values.size())]);
  }
  return result;
}

void Importer::require_non_negative(const OnnxNode& node, const Sym& s) {
  if (graph_.syms.non_negative(s)) return;
  graph_.require_equal(graph_.syms.min(s, 0), 0,
                       fmt::format("node '{}' ({}) rounds {}, which may not be negative", node.name,
                                   node.op, graph_.syms.to_string(s)));
}

Rational Importer::divide(const OnnxNode& node, const Rational& a, const Rational& b, bool whole) {
  auto& syms = graph_.syms;
  const Sym num = syms.mul(a.num, b.den), den = syms.mul(b.num, a.den);
  if (den.is(0)) fail(node, "it divides by zero");
  if (whole) {
    require_non_negative(node, num);  // ONNX rounds towards zero, we round down
    return {syms.floor_div(num, den), 1};
  }
  const auto d = den.constant();
  if (!d) {
    if (const auto q = syms.quotient(num, den)) return {*q, 1};
    fail(node, fmt::format("dividing by {}, which depends on the input, is supported for integers "
                           "only",
                           syms.to_string(den)));
  }
  return *d > 0 ? reduced(syms, num, *d) : reduced(syms, syms.sub(0, num), -*d);
}

Value Importer::shape_arithmetic(const OnnxNode& node) {
  auto& syms = graph_.syms;
  if (node.op == "Neg") {
    ShapeValue s = shape_value(node, 0);
    for (Rational& r : s.values) r.num = syms.sub(0, r.num);
    return s;
  }
  const bool minmax = node.op == "Min" || node.op == "Max";
  if (minmax && (node.inputs.size() != 2 || std::holds_alternative<View>(input(node, 0)) ||
                 std::holds_alternative<View>(input(node, 1)))) {
    fail(node, "it is supported on two values that come from a shape only");
  }
  const ShapeValue a = shape_value(node, 0), b = shape_value(node, 1);
  if (a.is_float != b.is_float) fail(node, "one of its inputs holds integers, the other floats");
  // Equal dims, or one side a single number: shape arithmetic knows no other broadcast.
  const bool a_one = a.values.size() == 1, b_one = b.values.size() == 1;
  if (a.dims != b.dims && !a_one && !b_one) fail(node, "its inputs differ in shape");
  ShapeValue result;
  result.is_float = a.is_float;
  result.dims = a_one && (!b_one || b.dims.size() > a.dims.size()) ? b.dims : a.dims;
  const std::size_t count = std::max(a.values.size(), b.values.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Rational &x = a.values[a_one ? 0 : i], &y = b.values[b_one ? 0 : i];
    const Sym xn = syms.mul(x.num, y.den), yn = syms.mul(y.num, x.den);
    std::int64_t den = 0;
    if (__builtin_mul_overflow(x.den, y.den, &den)) fail(node, "its fractions become too fine");
    if (node.op == "Add") {
      result.values.push_back(reduced(syms, syms.add(xn, yn), den));
    } else if (node.op == "Sub") {
      result.values.push_back(reduced(syms, syms.sub(xn, yn), den));
    } else if (node.op == "Mul") {
      result.values.push_back(reduced(syms, syms.mul(x.num, y.num), den));
    } else if (node.op == "Div") {
      result.values.push_back(divide(node, x, y, !a.is_float));
    } else {
      result.values.push_back(
          reduced(syms, node.op == "Min" ? syms.min(xn, yn) : syms.max(xn, yn), den));
    }
  }
  return result;
}

Value Importer::shape_rounding(const OnnxNode& node) {
  ShapeValue s = shape_value(node, 0);
  for (Rational& r : s.values) {
    r = {node.op == "Floor" ? graph_.syms.floor_div(r.num, r.den)
                            : graph_.syms.ceil_div(r.num, r.den),
         1};
  }
  return s;
}

Value Importer::shape_concat(const OnnxNode& node) {
  ShapeValue result;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ShapeValue part = shape_value(node, i);
    if (part.dims.size() != 1) fail(node, "values that come from a shape must be vectors");
    if (i != 0 && part.is_float != result.is_float) fail(node, "its inputs differ in type");
    result.is_float = part.is_float;
    result.values.insert(result.values.end(), part.values.begin(), part.values.end());
  }
  axis_index(node, attr_int(node, "axis", 0), 1);
  if (result.values.size() > 4096) fail(node, "its result is too long for a shape");
  result.dims = {static_cast<std::int64_t>(result.values.size())};
  return result;
}

Value Importer::shape_slice(const OnnxNode& node, const ShapeValue& data) {
  const bool by_input = onnx_.opset >= 10;
  const auto starts = by_input ? const_ints(node, 1) : attr_ints(node, "starts");
  const auto ends = by_input ? const_ints(node, 2) : attr_ints(node, "ends");
  auto axes = by_input ? (has_input(node, 3) ? const_ints(node, 3) : std::vector<std::int64_t>{})
                       : attr_ints(node, "axes");
  std::vector<std::int64_t> steps;
  if (by_input && has_input(node, 4)) steps = const_ints(node, 4);
  if (axes.empty()) {
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (starts.size() != ends.size() || starts.size() != axes.size() ||
      starts.size() != steps.size()) {
    fail(node, "its starts, ends, axes and steps differ in number");
  }
  ShapeValue result = data;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t axis = axis_index(node, axes[k], result.dims.size());
    const std::int64_t size = result.dims[axis], step = steps[k];
    if (step == 0) fail(node, "a step is 0");
    const bool forward = step > 0;
    const auto clamp = [&](std::int64_t at) {
      if (at < 0) at += size;
      return forward ? std::clamp<std::int64_t>(at, 0, size)
                     : std::clamp<std::int64_t>(at, -1, size - 1);
    };
    // INT64_MIN stands for "to the very beginning" and must not wrap.
    const std::int64_t from = clamp(std::max<std::int64_t>(starts[k], INT64_MIN / 2));
    const std::int64_t to = clamp(std::max<std::int64_t>(ends[k], INT64_MIN / 2));
    std::vector<std::int64_t> taken;
    for (std::int64_t i = from; forward ? i < to : i > to;) {
      taken.push_back(i);
      if (__builtin_add_overflow(i, step, &i)) break;
    }
    const auto strides = strides_of(result.dims);
    std::int64_t outer = 1;
    for (std::size_t i = 0; i < axis; ++i) outer *= result.dims[i];
    ShapeValue next;
    next.is_float = result.is_float;
    next.dims = result.dims;
    next.dims[axis] = static_cast<std::int64_t>(taken.size());
    for (std::int64_t o = 0; o < outer; ++o) {
      for (const std::int64_t t : taken) {
        for (std::int64_t i = 0; i < strides[axis]; ++i) {
          next.values.push_back(
              result.values[static_cast<std::size_t>((o * size + t) * strides[axis] + i)]);
        }
      }
    }
    result = std::move(next);
  }
  return result;
}

}  // namespace spirkiln::packer
