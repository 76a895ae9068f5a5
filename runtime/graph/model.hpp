// SPDX-License-Identifier: Apache-2.0
// A model pack, read and checked: what Model points to. Everything that later code indexes with or
// divides by is checked here, so a damaged pack ends in an error and nowhere else.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirkiln/model_format.hpp"
#include "spirkiln/spirkiln.hpp"
#include "table/checked_bytes.hpp"

namespace spirkiln {

struct Model::State {
  std::vector<std::byte> bytes;
  std::string origin;  // what messages call the pack
  model::ModelHeader header{};
  std::span<const char> strings;
  std::span<const model::Expr> exprs;
  std::span<const model::Constraint> constraints;
  std::span<const model::Tensor> tensors;
  std::span<const model::Node> nodes;
  std::span<const std::uint32_t> refs;
  std::span<const model::Const> consts;
  std::span<const std::uint32_t> outputs;

  std::string_view string(std::uint32_t offset) const;
  std::span<const std::uint32_t> inputs_of(const model::Node& n) const;
  std::span<const std::uint32_t> consts_of(const model::Node& n) const;
  std::uint32_t channels(std::uint32_t tensor) const;
  std::string_view tensor_name(std::uint32_t tensor) const { return string(tensors[tensor].name); }
  // The first plane, and the second of a kHalfPair.
  std::span<const std::byte> plane(const model::Const& c, bool low = false) const;

  Status parse();

 private:
  Error corrupt(const std::string& what) const;
  bool is_string(std::uint32_t offset) const {
    return string_in(strings, offset, model::kMaxStringBytes);
  }
  Status parse_sections();
  Status check_exprs() const;
  Status check_tensors() const;
  Status check_consts() const;
  Status check_nodes() const;
};

// What an operator asks of its node: number of inputs, attributes, constants and their sizes.
// Gives what is wrong, or an empty text. Shapes are checked when they are known (shapes.hpp).
std::string check_operator(const Model::State& model, const model::Node& node);

std::string_view op_name(model::Op op);

}  // namespace spirkiln
