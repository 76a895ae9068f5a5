// SPDX-License-Identifier: Apache-2.0
// Turns an ONNX graph into ours, node by node: integer and constant arithmetic is done here, layout
// operators become views, everything else becomes a node.
#pragma once

#include "ir.hpp"
#include "onnx_graph.hpp"
#include "view.hpp"

#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace spirkiln::packer {

// A number that the graph computes from its input's shape. Shape arithmetic passes through floats
// in some exports, hence the denominator.
struct Rational {
  Sym num;
  std::int64_t den = 1;  // > 0
};
struct ShapeValue {
  std::vector<std::int64_t> dims;  // rank 0 to kMaxRank
  std::vector<Rational> values;
  bool is_float = false;
};

// The product of two computed tensors inside an attention block: q k', perhaps after its softmax.
struct Scores {
  View q, k;
  double factor = 1;
  bool normalised = false;
};

using Value = std::variant<Literal, ShapeValue, View, Scores>;

class Importer {
 public:
  explicit Importer(const OnnxGraph& onnx) : onnx_(onnx) {}
  Graph run();

 private:
  using Handler = Value (Importer::*)(const OnnxNode&);
  static const std::map<std::string, Handler>& handlers();

  // ---- importer.cpp: access to a node's inputs and attributes
  [[noreturn]] void fail(const OnnxNode& node, const std::string& text) const;
  void import_input();
  void import_outputs();
  Value import_node(const OnnxNode& node);
  // Counts what constants and weights take; a small file can name large ones again and again.
  void charge(const OnnxNode& node, std::size_t elements);
  bool has_input(const OnnxNode& node, std::size_t i) const;
  const Value& input(const OnnxNode& node, std::size_t i) const;
  const View& view(const OnnxNode& node, std::size_t i) const;  // a computed tensor
  const View& nchw(const OnnxNode& node, std::size_t i) const;  // whole, rank 4
  Literal literal(const OnnxNode& node, std::size_t i) const;  // a constant
  const Literal& float_literal(const OnnxNode& node, std::size_t i) const;
  double scalar(const OnnxNode& node, std::size_t i) const;
  std::vector<std::int64_t> const_ints(const OnnxNode& node, std::size_t i) const;
  ShapeValue shape_value(const OnnxNode& node, std::size_t i) const;  // integers, maybe symbolic
  bool is_literal(const Value& value) const;
  bool holds_float_literal(const OnnxNode& node, std::size_t i) const;

  const AttributeValue* attribute(const OnnxNode& node, const std::string& name);
  std::int64_t attr_int(const OnnxNode& node, const std::string& name, std::int64_t fallback);
  double attr_float(const OnnxNode& node, const std::string& name, double fallback);
  std::string attr_string(const OnnxNode& node, const std::string& name, std::string fallback);
  std::vector<std::int64_t> attr_ints(const OnnxNode& node, const std::string& name);
  // Refuses any other value of the attribute.
  void expect_int(const OnnxNode& node, const std::string& name, std::int64_t only);
  void expect_string(const OnnxNode& node, const std::string& name, const std::string& only);
  std::size_t axis_index(const OnnxNode& node, std::int64_t axis, std::size_t rank) const;
  // The axes of Squeeze, ReduceMean, ...: an attribute, or an input in later operator sets.
  std::vector<std::int64_t> axes_argument(const OnnxNode& node, std::size_t input_index);

  Dims& dims_of(const View& v) { return graph_.tensors[static_cast<std::size_t>(v.tensor)].dims; }
  const Dims& dims_of(const View& v) const {
    return graph_.tensors[static_cast<std::size_t>(v.tensor)].dims;
  }
  Node new_node(const OnnxNode& node, Kind kind, std::vector<int> inputs) const;
  int finish(const OnnxNode& node, Node n, Dims dims);  // returns the new tensor
  bool axis_is_all_channels(const View& v, std::size_t axis) const;
  const View& elementwise(const OnnxNode& node, std::size_t i) const;  // bijective
  void require_same_axis(const OnnxNode& node, std::size_t axis, const Axis& a, const Axis& b);

  // ---- import_conv.cpp
  Value conv(const OnnxNode& node);
  Value conv_transpose(const OnnxNode& node);
  Value pool(const OnnxNode& node);
  Value global_average_pool(const OnnxNode& node);
  Value batch_normalization(const OnnxNode& node);
  Value resize(const OnnxNode& node);
  void read_window(const OnnxNode& node, const Dims& in, ConvParams* p);
  Dims window_dims(const Dims& in, const ConvParams& p, const Sym& channels);

  // ---- import_elementwise.cpp
  Value unary(const OnnxNode& node);
  Value binary(const OnnxNode& node);
  Value binary_views(const OnnxNode& node, model::BinaryOp op, View x, View y);
  Value binary_literal(const OnnxNode& node, model::BinaryOp op, const View& x, const Literal& c,
                       bool literal_first);
  Value affine(const OnnxNode& node, const View& x, std::vector<double> scale,
               std::vector<double> bias);
  Value reduce_mean(const OnnxNode& node);
  Value softmax(const OnnxNode& node);
  Value concat(const OnnxNode& node);

  // ---- import_layout.cpp: views, and the same operators on constants and shapes
  Value identity(const OnnxNode& node);
  Value cast(const OnnxNode& node);
  Value reshape_op(const OnnxNode& node);
  Value flatten(const OnnxNode& node);
  Value transpose_op(const OnnxNode& node);
  Value squeeze(const OnnxNode& node);
  Value unsqueeze(const OnnxNode& node);
  Value slice_op(const OnnxNode& node);

  // ---- import_matmul.cpp
  Value matmul(const OnnxNode& node);
  Value gemm(const OnnxNode& node);
  Value matmul_constant(const OnnxNode& node, const View& x, const Literal& w, bool transposed,
                        std::vector<double> bias);
  Value attention_scores(const OnnxNode& node, const View& q, const View& k);
  Value attention_result(const OnnxNode& node, const Scores& scores, const View& v);

  // ---- import_shape.cpp: integers that come from the input's shape
  Value shape(const OnnxNode& node);
  Value constant(const OnnxNode& node);
  Value constant_of_shape(const OnnxNode& node);
  Value gather(const OnnxNode& node);
  Value shape_arithmetic(const OnnxNode& node);
  Value shape_concat(const OnnxNode& node);
  Value shape_slice(const OnnxNode& node, const ShapeValue& data);
  Value shape_rounding(const OnnxNode& node);
  Rational divide(const OnnxNode& node, const Rational& a, const Rational& b, bool whole);
  void require_non_negative(const OnnxNode& node, const Sym& s);

  // ---- import_literal.cpp: arithmetic on float constants
  Value fold_unary(const OnnxNode& node);
  Value fold_binary(const OnnxNode& node);
  Value fold_concat(const OnnxNode& node);

  const OnnxGraph& onnx_;
  Graph graph_;
  std::map<std::string, Value> values_;
  std::size_t charged_ = 0;
  std::set<std::string> attributes_read_;  // of the current node
};

}  // namespace spirkiln::packer
