// SPDX-License-Identifier: Apache-2.0
// Small ONNX graphs, made through the protobuf API.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace spirkiln::test {

class OnnxBuilder {
 public:
  // The input is "x", N x 3 x H x W; -1 leaves a size open.
  explicit OnnxBuilder(int opset = 13, std::vector<std::int64_t> input = {-1, 3, -1, -1}) {
    model_.set_ir_version(8);
    auto* set = model_.add_opset_import();
    set->set_domain("");
    set->set_version(opset);
    model_.mutable_graph()->set_name("test");
    value(model_.mutable_graph()->add_input(), "x", input);
  }

  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  onnx::ModelProto& model() { return model_; }

  std::string floats(const std::string& name, std::vector<std::int64_t> dims,
                     const std::vector<float>& values) {
    auto* t = graph().add_initializer();
    t->set_name(name);
    t->set_data_type(onnx::TensorProto::FLOAT);
    for (const auto d : dims) t->add_dims(d);
    for (const float v : values) t->add_float_data(v);
    return name;
  }
  std::string ints(const std::string& name, const std::vector<std::int64_t>& values,
                   bool scalar = false) {
    auto* t = graph().add_initializer();
    t->set_name(name);
    t->set_data_type(onnx::TensorProto::INT64);
    if (!scalar) t->add_dims(static_cast<std::int64_t>(values.size()));
    for (const auto v : values) t->add_int64_data(v);
    return name;
  }

  // Its output is named as `name`, and the node "n:" + name.
  struct NodeRef {
    onnx::NodeProto* proto;
    NodeRef& i(const std::string& key, std::int64_t v) {
      auto* a = add(key, onnx::AttributeProto::INT);
      a->set_i(v);
      return *this;
    }
    NodeRef& f(const std::string& key, float v) {
      auto* a = add(key, onnx::AttributeProto::FLOAT);
      a->set_f(v);
      return *this;
    }
    NodeRef& s(const std::string& key, const std::string& v) {
      auto* a = add(key, onnx::AttributeProto::STRING);
      a->set_s(v);
      return *this;
    }
    NodeRef& is(const std::string& key, const std::vector<std::int64_t>& v) {
      auto* a = add(key, onnx::AttributeProto::INTS);
      for (const auto e : v) a->add_ints(e);
      return *this;
    }
    operator std::string() const { return proto->output(0); }

   private:
    onnx::AttributeProto* add(const std::string& key, onnx::AttributeProto::AttributeType type) {
      auto* a = proto->add_attribute();
      a->set_name(key);
      a->set_type(type);
      return a;
    }
  };
  NodeRef node(const std::string& op, const std::vector<std::string>& inputs,
               const std::string& name) {
    auto* n = graph().add_node();
    n->set_op_type(op);
    n->set_name("n:" + name);
    for (const auto& in : inputs) n->add_input(in);
    n->add_output(name);
    return {n};
  }

  void output(const std::string& name) {
    auto* o = graph().add_output();
    o->set_name(name);
    o->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }

  std::string bytes() const { return model_.SerializeAsString(); }

 private:
  static void value(onnx::ValueInfoProto* info, const std::string& name,
                    const std::vector<std::int64_t>& dims) {
    info->set_name(name);
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    for (std::size_t k = 0; k < dims.size(); ++k) {
      auto* d = type->mutable_shape()->add_dim();
      if (dims[k] >= 0) {
        d->set_dim_value(dims[k]);
      } else {
        d->set_dim_param("d" + std::to_string(k));
      }
    }
  }

  onnx::ModelProto model_;
};

}  // namespace spirkiln::test
