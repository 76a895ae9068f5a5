// SPDX-License-Identifier: Apache-2.0
// An ONNX graph without protobuf: what the reader hands to the importer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace spirkiln::packer {

enum class ElementType { kFloat, kInt, kBool };  // kInt covers int32 and int64

// A constant of any rank, row-major. One of the two vectors is in use.
struct Literal {
  ElementType type = ElementType::kFloat;
  std::vector<std::int64_t> dims;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;  // kBool as 0 and 1

  std::size_t elements() const { return type == ElementType::kFloat ? floats.size() : ints.size(); }
};

using AttributeValue = std::variant<float, std::int64_t, std::string, Literal, std::vector<float>,
                                    std::vector<std::int64_t>, std::vector<std::string>>;

struct OnnxNode {
  std::string name;  // never empty: "#7" where the file has none
  std::string op;
  std::vector<std::string> inputs;   // "" = left out
  std::vector<std::string> outputs;
  std::map<std::string, AttributeValue> attributes;
};

struct OnnxValue {
  std::string name;
  std::vector<std::int64_t> dims;  // -1 = not fixed
  bool has_shape = false;
};

struct OnnxGraph {
  std::string name;
  std::int64_t opset = 0;
  std::vector<OnnxNode> nodes;               // in an order in which they may run
  std::map<std::string, Literal> constants;  // initialisers
  OnnxValue input;
  std::vector<OnnxValue> outputs;
};

}  // namespace spirkiln::packer
