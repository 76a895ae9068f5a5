// SPDX-License-Identifier: Apache-2.0
// The shape of every tensor for one shape of the input.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/dispatch.hpp"
#include "graph/model.hpp"

namespace spirkiln {

struct InputShape {
  std::uint32_t n = 0, h = 0, w = 0;
  auto operator<=>(const InputShape&) const = default;
};

// Values of all expressions; one that cannot be evaluated (division by zero, overflow, a remainder
// in an exact division) is absent. Pure, for tests.
std::vector<std::optional<std::int64_t>> evaluate(std::span<const model::Expr> exprs,
                                                  const InputShape& input);

// The dims of every tensor. Refuses what breaks a constraint, has a dimension outside 1 to 2^24 or
// a tensor of 2^31 vectors or more, and where a node's output is not the shape that its operator
// gives: kernels index by these. Errors: kInvalidArgument naming the picture's shape and the
// reason, kCorrupt when a node contradicts itself.
Result<std::vector<Dims>> tensor_shapes(const Model::State& model, const InputShape& input);

std::string to_string(const Dims& d);

}  // namespace spirkiln
