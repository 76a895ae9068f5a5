// SPDX-License-Identifier: Apache-2.0
#include "importer.hpp"

#include "pack_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace spirkiln::packer {
namespace {

std::string attribute_text(const AttributeValue& value) {
  struct Text {
    std::string operator()(float v) const { return fmt::format("{}", v); }
    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return "'" + v + "'"; }
    std::string operator()(const Literal& v) const {
      return fmt::format("a tensor of {} elements", v.elements());
    }
    std::string operator()(const std::vector<float>& v) const { return fmt::format("{}", v); }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return fmt::format("{}", v);
    }
    std::string operator()(const std::vector<std::string>& v) const { return fmt::format("{}", v); }
  };
  return std::visit(Text{}, value);
}

}  // namespace

const std::map<std::string, Importer::Handler>& Importer::handlers() {
  static const std::map<std::string, Handler> table = {
      {"Add", &Importer::binary},
      {"AveragePool", &Importer::pool},
      {"BatchNormalization", &Importer::batch_normalization},
      {"Cast", &Importer::cast},
      {"Ceil", &Importer::shape_rounding},
      {"Clip", &Importer::unary},
      {"Concat", &Importer::concat},
      {"Constant", &Importer::constant},
      {"ConstantOfShape", &Importer::constant_of_shape},
      {"Conv", &Importer::conv},
      {"ConvTranspose", &Importer::conv_transpose},
      {"Div", &Importer::binary},
      {"Erf", &Importer::unary},
      {"Flatten", &Importer::flatten},
      {"Floor", &Importer::shape_rounding},
      {"Gather", &Importer::gather},
      {"Gemm", &Importer::gemm},
      {"GlobalAveragePool", &Importer::global_average_pool},
      {"HardSigmoid", &Importer::unary},
      {"HardSwish", &Importer::unary},
      {"Identity", &Importer::identity},
      {"MatMul", &Importer::matmul},
      {"Max", &Importer::shape_arithmetic},
      {"MaxPool", &Importer::pool},
      {"Min", &Importer::shape_arithmetic},
      {"Mul", &Importer::binary},
      {"Neg", &Importer::unary},
      {"Pow", &Importer::unary},
      {"ReduceMean", &Importer::reduce_mean},
      {"Relu", &Importer::unary},
      {"Reshape", &Importer::reshape_op},
      {"Resize", &Importer::resize},
      {"Shape", &Importer::shape},
      {"Sigmoid", &Importer::unary},
      {"Slice", &Importer::slice_op},
      {"Softmax", &Importer::softmax},
      {"Sqrt", &Importer::unary},
      {"Squeeze", &Importer::squeeze},
      {"Sub", &Importer::binary},
      {"Transpose", &Importer::transpose_op},
      {"Unsqueeze", &Importer::unsqueeze},
  };
  return table;
}

Graph Importer::run() {
  import_input();
  for (const auto& [name, literal] : onnx_.constants) values_.emplace(name, literal);
  for (const OnnxNode& node : onnx_.nodes) {
    try {
      values_.insert_or_assign(node.outputs[0], import_node(node));
    } catch (const PackError& e) {
      const std::string prefix = fmt::format("node '{}' ({})", node.name, node.op);
      if (e.error().message.rfind(prefix, 0) == 0) throw;
      throw PackError(e.error().code, prefix + ": " + e.error().message);
    }
  }
  import_outputs();
  return std::move(graph_);
}

void Importer::import_input() {
  const OnnxValue& in = onnx_.input;
  const auto refuse = [&](const std::string& text) {
    fail_unsupported(fmt::format("input '{}': {}", in.name, text));
  };
  if (!in.has_shape || in.dims.size() != 4) refuse("it must have rank 4 (N, 3, H, W)");
  if (in.dims[1] != 3) {
    refuse(in.dims[1] < 0 ? std::string("its channels (axis 1) must be fixed to 3")
                          : fmt::format("it has {} channels, 3 are supported", in.dims[1]));
  }
  Dims dims{graph_.syms.input(0), graph_.syms.input(1), graph_.syms.input(2), 3};
  // A fixed size becomes a constant everywhere, and a requirement on the caller.
  const std::size_t onnx_axis[3] = {0, 2, 3};
  for (int i = 0; i < 3; ++i) {
    const std::int64_t fixed = in.dims[onnx_axis[i]];
    if (fixed < 0) continue;
    if (fixed < 1 || fixed > 65536) refuse(fmt::format("axis {} has size {}", onnx_axis[i], fixed));
    graph_.require_equal(graph_.syms.input(i), fixed,
                         fmt::format("the input's {} is fixed by the model", i == 0   ? "batch size"
                                                                             : i == 1 ? "height"
                                                                                      : "width"));
    dims[static_cast<std::size_t>(i)] = fixed;
  }
  graph_.input = graph_.add_tensor(in.name, dims);
  values_.emplace(in.name, whole_view(graph_.syms, graph_.input, dims, {kN, kC, kH, kW}));
}

void Importer::import_outputs() {
  for (const OnnxValue& out : onnx_.outputs) {
    const auto refuse = [&](const std::string& text) {
      fail_unsupported(fmt::format("output '{}': {}", out.name, text));
    };
    const auto* v = std::get_if<View>(&values_.at(out.name));
    if (v == nullptr) refuse("it does not depend on the picture, or is no tensor of floats");
    const Dims& dims = dims_of(*v);
    // Any order of whole stored dimensions will do: the reader gets the stored tensor.
    std::vector<int> order;
    for (const Axis& axis : v->axes) {
      for (const Factor& f : axis) order.push_back(f.dim);
      if (axis.size() > 1) refuse("two stored dimensions are merged into one axis");
    }
    if (!is_bijective(graph_.syms, *v, dims)) refuse("it is a part of a stored tensor");
    for (const Axis& axis : v->axes) {
      for (const Factor& f : axis) {
        if (!(f.size == dims[static_cast<std::size_t>(f.dim)])) {
          refuse("a stored dimension is split over two axes");
        }
      }
    }
    if (out.has_shape) {
      const auto shape = view_shape(graph_.syms, *v);
      bool same = shape.size() == out.dims.size();
      for (std::size_t i = 0; same && i < shape.size(); ++i) {
        if (out.dims[i] < 0) continue;
        if (const auto c = shape[i].constant()) same = *c == out.dims[i];
      }
      if (!same) {
        refuse(fmt::format("the file declares shape {}, but the nodes make {}", out.dims,
                           shape_text(graph_.syms, shape)));
      }
    }
    graph_.outputs.push_back(v->tensor);
  }
}

Value Importer::import_node(const OnnxNode& node) {
  const auto it = handlers().find(node.op);
  if (it == handlers().end()) {
    fail(node, fmt::format("operator {} is not supported", node.op));
  }
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) {
      fail(node, fmt::format("its output {} ('{}') is not supported", i, node.outputs[i]));
    }
  }
  attributes_read_.clear();
  Value result = (this->*it->second)(node);
  for (const auto& [name, value] : node.attributes) {
    if (attributes_read_.count(name) == 0) {
      fail(node, fmt::format("attribute {} = {} is not supported", name, attribute_text(value)));
    }
  }
  if (const auto* l = std::get_if<Literal>(&result)) charge(node, l->elements());
  if (const auto* s = std::get_if<ShapeValue>(&result)) charge(node, 64 * s->values.size());
  return result;
}

void Importer::charge(const OnnxNode& node, std::size_t elements) {
  constexpr std::size_t kMaxCharged = std::size_t{128} << 20;  // 512 MiB
  charged_ += elements;
  if (charged_ > kMaxCharged) {
    fail(node, "up to here the graph's constants take more than 512 MiB, which is not supported");
  }
}

void Importer::fail(const OnnxNode& node, const std::string& text) const {
  fail_unsupported(fmt::format("node '{}' ({}): {}", node.name, node.op, text));
}

bool Importer::has_input(const OnnxNode& node, std::size_t i) const {
  return i < node.inputs.size() && !node.inputs[i].empty();
}

const Value& Importer::input(const OnnxNode& node, std::size_t i) const {
  if (!has_input(node, i)) fail(node, fmt::format("input {} is missing", i));
  return values_.at(node.inputs[i]);
}

const View& Importer::view(const OnnxNode& node, std::size_t i) const {
  const auto* v = std::get_if<View>(&input(node, i));
  if (v == nullptr) {
    fail(node, fmt::format("input {} ('{}') must be a computed tensor, it is {}", i, node.inputs[i],
                           std::holds_alternative<Scores>(input(node, i))
                               ? "the product of two computed tensors, which only an attention "
                                 "block may use"
                               : "a constant or a shape"));
  }
  return *v;
}

const View& Importer::nchw(const OnnxNode& node, std::size_t i) const {
  const View& v = view(node, i);
  if (!is_whole(graph_.syms, v, dims_of(v), {kN, kC, kH, kW})) {
    fail(node, fmt::format("input {} ('{}') must be N x C x H x W as it is stored; its shape {} is "
                           "a rearrangement that would need a copy",
                           i, node.inputs[i], shape_text(graph_.syms, view_shape(graph_.syms, v))));
  }
  return v;
}

const View& Importer::elementwise(const OnnxNode& node, std::size_t i) const {
  const View& v = view(node, i);
  if (!is_bijective(graph_.syms, v, dims_of(v))) {
    fail(node, fmt::format("input {} ('{}') is a part of a tensor; only attention reads parts", i,
                           node.inputs[i]));
  }
  return v;
}

bool Importer::is_literal(const Value& value) const {
  return std::holds_alternative<Literal>(value);
}

bool Importer::holds_float_literal(const OnnxNode& node, std::size_t i) const {
  const auto* l = std::get_if<Literal>(&input(node, i));
  return l != nullptr && l->type == ElementType::kFloat;
}

Literal Importer::literal(const OnnxNode& node, std::size_t i) const {
  const Value& value = input(node, i);
  if (const auto* l = std::get_if<Literal>(&value)) return *l;
  if (const auto* s = std::get_if<ShapeValue>(&value)) {
    Literal l;
    l.type = s->is_float ? ElementType::kFloat : ElementType::kInt;
    l.dims = s->dims;
    for (const Rational& r : s->values) {
      const auto c = r.num.constant();
      if (!c) {
        fail(node, fmt::format("input {} ('{}') must be constant, it depends on the input's shape: "
                               "{}",
                               i, node.inputs[i], graph_.syms.to_string(r.num)));
      }
      if (s->is_float) {
        l.floats.push_back(
            static_cast<float>(static_cast<double>(*c) / static_cast<double>(r.den)));
      } else {
        l.ints.push_back(*c);
      }
    }
    return l;
  }
  fail(node, fmt::format("input {} ('{}') must be constant", i, node.inputs[i]));
}

const Literal& Importer::float_literal(const OnnxNode& node, std::size_t i) const {
  const auto* l = std::get_if<Literal>(&input(node, i));
  if (l == nullptr || l->type != ElementType::kFloat) {
    fail(node, fmt::format("input {} ('{}') must be a constant of floats", i, node.inputs[i]));
  }
  return *l;
}

double Importer::scalar(const OnnxNode& node, std::size_t i) const {
  const Literal l = literal(node, i);
  if (l.elements() != 1) {
    fail(node, fmt::format("input {} ('{}') must be one number", i, node.inputs[i]));
  }
  return l.type == ElementType::kFloat ? l.floats[0] : static_cast<double>(l.ints[0]);
}

std::vector<std::int64_t> Importer::const_ints(const OnnxNode& node, std::size_t i) const {
  const Literal l = literal(node, i);
  if (l.type == ElementType::kFloat) {
    fail(node, fmt::format("input {} ('{}') must be integers", i, node.inputs[i]));
  }
  return l.ints;
}

ShapeValue Importer::shape_value(const OnnxNode& node, std::size_t i) const {
  const Value& value = input(node, i);
  if (const auto* s = std::get_if<ShapeValue>(&value)) return *s;
  const auto* l = std::get_if<Literal>(&value);
  if (l == nullptr) {
    fail(node,
         fmt::format("input {} ('{}') must be a constant or come from a shape", i, node.inputs[i]));
  }
  if (l->elements() > 4096) {
    fail(node, fmt::format("input {} ('{}') has {} elements, too many for a shape", i,
                           node.inputs[i], l->elements()));
  }
  ShapeValue s;
  s.dims = l->dims;
  s.is_float = l->type == ElementType::kFloat;
  for (const std::int64_t v : l->ints) s.values.push_back({v, 1});
  for (const float v : l->floats) {
    // Shape arithmetic uses simple fractions, which floats of moderate size hold exactly.
    std::int64_t den = 1;
    double scaled = v;
    while (den < (1 << 20) && scaled != std::trunc(scaled)) {
      den *= 2;
      scaled = static_cast<double>(v) * static_cast<double>(den);
    }
    if (!(std::abs(scaled) <= 1e15) || scaled != std::trunc(scaled)) {
      fail(node, fmt::format("input {} ('{}'): {} is no number that shape arithmetic can keep "
                             "exactly",
                             i, node.inputs[i], v));
    }
    s.values.push_back({static_cast<std::int64_t>(scaled), den});
  }
  return s;
}

const AttributeValue* Importer::attribute(const OnnxNode& node, const std::string& name) {
  attributes_read_.insert(name);
  const auto it = node.attributes.find(name);
  return it == node.attributes.end() ? nullptr : &it->second;
}

std::int64_t Importer::attr_int(const OnnxNode& node, const std::string& name,
                                std::int64_t fallback) {
  const AttributeValue* a = attribute(node, name);
  if (a == nullptr) return fallback;
  if (const auto* v = std::get_if<std::int64_t>(a)) return *v;
  fail(node, fmt::format("attribute {} must be an integer, it is {}", name, attribute_text(*a)));
}

double Importer::attr_float(const OnnxNode& node, const std::string& name, double fallback) {
  const AttributeValue* a = attribute(node, name);
  if (a == nullptr) return fallback;
  const auto* v = std::get_if<float>(a);
  // Infinite bounds of Clip would be legal ONNX, but nothing behind us expects them.
  if (v == nullptr || *v != *v || *v - *v != 0) {
    fail(node,
         fmt::format("attribute {} must be a finite float, it is {}", name, attribute_text(*a)));
  }
  return *v;
}

std::string Importer::attr_string(const OnnxNode& node, const std::string& name,
                                  std::string fallback) {
  const AttributeValue* a = attribute(node, name);
  if (a == nullptr) return fallback;
  if (const auto* v = std::get_if<std::string>(a)) return *v;
  fail(node, fmt::format("attribute {} must be a string, it is {}", name, attribute_text(*a)));
}

std::vector<std::int64_t> Importer::attr_ints(const OnnxNode& node, const std::string& name) {
  const AttributeValue* a = attribute(node, name);
  if (a == nullptr) return {};
  if (const auto* v = std::get_if<std::vector<std::int64_t>>(a)) return *v;
  fail(node, fmt::format("attribute {} must be integers, it is {}", name, attribute_text(*a)));
}

void Importer::expect_int(const OnnxNode& node, const std::string& name, std::int64_t only) {
  const std::int64_t v = attr_int(node, name, only);
  if (v != only) {
    fail(node, fmt::format("attribute {} = {} is not supported (only {} is)", name, v, only));
  }
}

void Importer::expect_string(const OnnxNode& node, const std::string& name,
                             const std::string& only) {
  const std::string v = attr_string(node, name, only);
  if (v != only) {
    fail(node, fmt::format("attribute {} = '{}' is not supported (only '{}' is)", name, v, only));
  }
}

std::size_t Importer::axis_index(const OnnxNode& node, std::int64_t axis, std::size_t rank) const {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) {
    fail(node, fmt::format("axis {} is out of range for a tensor of rank {}", axis, rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

std::vector<std::int64_t> Importer::axes_argument(const OnnxNode& node, std::size_t input_index) {
  if (has_input(node, input_index)) return const_ints(node, input_index);
  return attr_ints(node, "axes");
}

Node Importer::new_node(const OnnxNode& node, Kind kind, std::vector<int> inputs) const {
  Node n;
  n.kind = kind;
  n.name = node.name;
  n.op_type = node.op;
  n.inputs = std::move(inputs);
  return n;
}

int Importer::finish(const OnnxNode& node, Node n, Dims dims) {
  charge(node, n.weights.values.size() + n.scale.size());
  n.output = graph_.add_tensor(node.outputs[0], std::move(dims));
  graph_.nodes.push_back(std::move(n));
  return graph_.nodes.back().output;
}

bool Importer::axis_is_all_channels(const View& v, std::size_t axis) const {
  const Sym& c = dims_of(v)[kC];
  if (c.is(1)) return v.axes[axis].empty();
  return v.axes[axis] == Axis{{kC, c, 1}};
}

void Importer::require_same_axis(const OnnxNode& node, std::size_t axis, const Axis& a,
                                 const Axis& b) {
  const Sym size_a = axis_size(graph_.syms, a), size_b = axis_size(graph_.syms, b);
  bool same = a.empty() || b.empty() || a.size() == b.size();
  if (!a.empty() && !b.empty()) {
    for (std::size_t i = 0; same && i < a.size(); ++i) {
      same = a[i].dim == b[i].dim && a[i].stride == b[i].stride;
    }
  }
  if (!same) {
    fail(node, fmt::format("axis {} of its inputs lies differently in memory; that would need a "
                           "copy",
                           axis));
  }
  graph_.require_equal(
      size_a, size_b,
      fmt::format("axis {} of the inputs of node '{}' ({})", axis, node.name, node.op));
}

}  // namespace spirkiln::packer
