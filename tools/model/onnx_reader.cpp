// SPDX-License-Identifier: Apache-2.0
#include "onnx_reader.hpp"

#include "input_file.hpp"
#include "pack_error.hpp"
#include "wire_check.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>
#include <set>

namespace spirkiln::packer {
namespace {

constexpr std::uint64_t kMaxFileBytes = 256ull << 20;
constexpr std::uint64_t kMaxElements = 64ull << 20;  // of one constant
constexpr int kMaxRank = 8;
constexpr int kMaxNodes = 10000;  // passes take time that grows with the square

std::string type_name(int type) {
  return onnx::TensorProto_DataType_IsValid(type)
             ? onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(type))
             : fmt::format("number {}", type);
}

template <typename T>
std::vector<T> raw_values(const std::string& raw, std::size_t count, const std::string& what) {
  if (raw.size() != count * sizeof(T)) {
    fail_corrupt(fmt::format("{}: its raw data has {} bytes where its dims need {}", what,
                             raw.size(), count * sizeof(T)));
  }
  std::vector<T> values(count);
  if (count != 0) std::memcpy(values.data(), raw.data(), raw.size());
  return values;
}

template <typename T, typename Field>
std::vector<T> field_values(const Field& field, std::size_t count, const std::string& what) {
  if (static_cast<std::size_t>(field.size()) != count) {
    fail_corrupt(
        fmt::format("{}: it holds {} values where its dims need {}", what, field.size(), count));
  }
  return std::vector<T>(field.begin(), field.end());
}

Literal read_tensor(const onnx::TensorProto& tensor, const std::string& what) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() != 0) {
    fail_unsupported(fmt::format(
        "{}: its values lie in another file (ONNX external data), which is not supported; save "
        "the model with its data inside",
        what));
  }
  if (tensor.has_segment()) fail_unsupported(what + ": segmented tensors are not supported");
  Literal literal;
  std::uint64_t count = 1;
  if (tensor.dims_size() > kMaxRank) {
    fail_unsupported(fmt::format("{}: rank {} (at most {})", what, tensor.dims_size(), kMaxRank));
  }
  for (const std::int64_t d : tensor.dims()) {
    if (d < 0) fail_corrupt(fmt::format("{}: a dim is {}", what, d));
    if (d != 0 && count > kMaxElements / static_cast<std::uint64_t>(d)) {
      fail_unsupported(fmt::format("{}: more than {} elements", what, kMaxElements));
    }
    count *= static_cast<std::uint64_t>(d);
    literal.dims.push_back(d);
  }
  const bool raw = tensor.has_raw_data();
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      literal.type = ElementType::kFloat;
      literal.floats = raw ? raw_values<float>(tensor.raw_data(), count, what)
                           : field_values<float>(tensor.float_data(), count, what);
      for (const float v : literal.floats) {
        if (!std::isfinite(v)) {
          throw PackError(ErrorCode::kNotFinite,
                          fmt::format("{}: it holds {}, and weights must be finite", what, v));
        }
      }
      break;
    case onnx::TensorProto::INT64:
      literal.type = ElementType::kInt;
      literal.ints = raw ? raw_values<std::int64_t>(tensor.raw_data(), count, what)
                         : field_values<std::int64_t>(tensor.int64_data(), count, what);
      break;
    case onnx::TensorProto::INT32:
      literal.type = ElementType::kInt;
      if (raw) {
        for (const auto v : raw_values<std::int32_t>(tensor.raw_data(), count, what)) {
          literal.ints.push_back(v);
        }
      } else {
        literal.ints = field_values<std::int64_t>(tensor.int32_data(), count, what);
      }
      break;
    case onnx::TensorProto::BOOL:
      literal.type = ElementType::kBool;
      if (raw) {
        for (const auto v : raw_values<std::uint8_t>(tensor.raw_data(), count, what)) {
          literal.ints.push_back(v != 0);
        }
      } else {
        literal.ints = field_values<std::int64_t>(tensor.int32_data(), count, what);
      }
      break;
    default:
      fail_unsupported(
          fmt::format("{}: element type {} is not supported (FLOAT, INT64, INT32, "
                      "BOOL are)",
                      what, type_name(tensor.data_type())));
  }
  return literal;
}

AttributeValue read_attribute(const onnx::AttributeProto& a, const std::string& what) {
  switch (a.type()) {
    case onnx::AttributeProto::FLOAT:
      return a.f();
    case onnx::AttributeProto::INT:
      return static_cast<std::int64_t>(a.i());
    case onnx::AttributeProto::STRING:
      return a.s();
    case onnx::AttributeProto::TENSOR:
      return read_tensor(a.t(), what);
    case onnx::AttributeProto::FLOATS:
      return std::vector<float>(a.floats().begin(), a.floats().end());
    case onnx::AttributeProto::INTS:
      return std::vector<std::int64_t>(a.ints().begin(), a.ints().end());
    case onnx::AttributeProto::STRINGS:
      return std::vector<std::string>(a.strings().begin(), a.strings().end());
    default:
      fail_unsupported(fmt::format("{}: attributes of kind {} are not supported", what,
                                   onnx::AttributeProto_AttributeType_IsValid(a.type())
                                       ? onnx::AttributeProto_AttributeType_Name(a.type())
                                       : fmt::format("number {}", static_cast<int>(a.type()))));
  }
}

OnnxValue read_value_info(const onnx::ValueInfoProto& info, const char* role) {
  OnnxValue value;
  value.name = info.name();
  if (!info.has_type() || !info.type().has_tensor_type()) {
    fail_unsupported(fmt::format("{} '{}' is not a tensor", role, info.name()));
  }
  const auto& type = info.type().tensor_type();
  if (type.elem_type() != onnx::TensorProto::FLOAT) {
    fail_unsupported(fmt::format("{} '{}' has element type {}, only FLOAT is supported", role,
                                 info.name(), type_name(type.elem_type())));
  }
  value.has_shape = type.has_shape();
  for (const auto& dim : type.shape().dim()) {
    value.dims.push_back(
        dim.value_case() == onnx::TensorShapeProto_Dimension::kDimValue ? dim.dim_value() : -1);
  }
  return value;
}

// Nodes may stand in any order in a damaged or hand-made file; ours must be runnable in order.
void check_order(const OnnxGraph& graph) {
  std::set<std::string> known{graph.input.name};
  for (const auto& [name, literal] : graph.constants) {
    if (name == graph.input.name) {
      fail_corrupt(fmt::format("'{}' is the input and an initialiser too", name));
    }
    known.insert(name);
  }
  std::set<std::string> made;
  for (const auto& node : graph.nodes) {
    for (const auto& output : node.outputs) {
      if (!output.empty() && !made.insert(output).second) {
        fail_corrupt(fmt::format("node '{}' ({}): its output '{}' was made before", node.name,
                                 node.op, output));
      }
    }
  }
  for (const auto& node : graph.nodes) {
    for (const auto& input : node.inputs) {
      if (input.empty() || known.count(input) != 0) continue;
      fail_corrupt(fmt::format("node '{}' ({}): its input '{}' is {}", node.name, node.op, input,
                               made.count(input) != 0 ? "made only after it (the nodes are not in "
                                                        "order)"
                                                      : "made by no node"));
    }
    for (const auto& output : node.outputs) {
      if (output.empty()) continue;
      if (!known.insert(output).second) {
        fail_corrupt(fmt::format("node '{}' ({}): its output '{}' is an input or initialiser too",
                                 node.name, node.op, output));
      }
    }
  }
  for (const auto& output : graph.outputs) {
    if (known.count(output.name) == 0) {
      fail_corrupt(fmt::format("output '{}' is made by no node", output.name));
    }
  }
}

OnnxNode read_node(const onnx::NodeProto& proto, std::size_t index) {
  OnnxNode node;
  node.name = proto.name().empty() ? fmt::format("#{}", index) : proto.name();
  node.op = proto.op_type();
  if (!proto.domain().empty() && proto.domain() != "ai.onnx") {
    fail_unsupported(fmt::format("node '{}': operator {} of domain '{}' is not supported",
                                 node.name, node.op, proto.domain()));
  }
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  if (node.outputs.empty()) {
    fail_corrupt(fmt::format("node '{}' ({}) has no output", node.name, node.op));
  }
  for (const auto& a : proto.attribute()) {
    const std::string what =
        fmt::format("node '{}' ({}), attribute '{}'", node.name, node.op, a.name());
    if (!node.attributes.emplace(a.name(), read_attribute(a, what)).second) {
      fail_corrupt(what + ": it is given twice");
    }
  }
  return node;
}

OnnxGraph convert(const onnx::ModelProto& model) {
  OnnxGraph graph;
  for (const auto& set : model.opset_import()) {
    if (set.domain().empty() || set.domain() == "ai.onnx") graph.opset = set.version();
  }
  if (!model.has_graph()) fail_corrupt("it holds no graph");
  if (graph.opset < 7 || graph.opset > 21) {
    fail_unsupported(fmt::format("operator set {} is not supported (7 to 21 are)", graph.opset));
  }
  if (model.functions_size() != 0) fail_unsupported("model-local functions are not supported");
  const auto& proto = model.graph();
  graph.name = proto.name();
  if (proto.sparse_initializer_size() != 0) {
    fail_unsupported("sparse initialisers are not supported");
  }
  for (const auto& tensor : proto.initializer()) {
    const std::string what = fmt::format("initialiser '{}'", tensor.name());
    if (!graph.constants.emplace(tensor.name(), read_tensor(tensor, what)).second) {
      fail_corrupt(what + ": it is given twice");
    }
  }
  std::vector<const onnx::ValueInfoProto*> inputs;
  for (const auto& info : proto.input()) {
    // Before IR version 4 initialisers had to be listed among the inputs.
    if (graph.constants.count(info.name()) == 0) inputs.push_back(&info);
  }
  if (inputs.size() != 1) {
    fail_unsupported(fmt::format("it has {} inputs, exactly one is supported", inputs.size()));
  }
  graph.input = read_value_info(*inputs[0], "input");
  if (proto.output_size() == 0) fail_corrupt("it has no output");
  for (const auto& info : proto.output()) graph.outputs.push_back(read_value_info(info, "output"));
  if (proto.node_size() > kMaxNodes) {
    fail_unsupported(
        fmt::format("it has {} nodes, at most {} are supported", proto.node_size(), kMaxNodes));
  }
  std::size_t index = 0;
  for (const auto& node : proto.node()) graph.nodes.push_back(read_node(node, index++));
  check_order(graph);
  return graph;
}

}  // namespace

OnnxGraph read_onnx_bytes(std::string_view bytes, const std::string& origin) {
  try {
    if (bytes.empty()) fail_corrupt("the file is empty");
    if (bytes.size() > kMaxFileBytes) {
      fail_unsupported(fmt::format("the file has {} bytes, more than the {} that are supported",
                                   bytes.size(), kMaxFileBytes));
    }
    if (const std::string wrong = check_onnx_wire(bytes); !wrong.empty()) {
      fail_corrupt(fmt::format("this is no whole ONNX file: {}", wrong));
    }
    google::protobuf::io::CodedInputStream stream(
        reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
    stream.SetRecursionLimit(32);
    stream.SetTotalBytesLimit(static_cast<int>(bytes.size()));
    onnx::ModelProto model;
    if (!model.ParsePartialFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
      fail_corrupt("this is no ONNX file: protobuf cannot parse it");
    }
    return convert(model);
  } catch (const PackError& e) {
    throw PackError(e.error().code, fmt::format("{}: {}", origin, e.error().message));
  }
}

OnnxGraph read_onnx_file(const std::string& path) {
  const auto bytes = read_input(path, {.max_bytes = kMaxFileBytes});
  if (!bytes) throw PackError(bytes.error().code, bytes.error().message);
  return read_onnx_bytes({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, path);
}

}  // namespace spirkiln::packer
