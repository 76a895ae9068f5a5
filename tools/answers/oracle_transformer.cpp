// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/half.hpp"
#include "oracle.hpp"

namespace spirkiln::oracle {
namespace {

Tensor rounded(Tensor t) {
  for (double& v : t.v) v = double{half_to_float(float_to_half(static_cast<float>(v)))};
  return t;
}

// Adds to the norm `y` of `x` what rounding did to x: a norm divides by the deviation of its row,
// and so it does with errors.
void add_errors(const Tensor& x, const std::vector<double>& gamma, Tensor* y) {
  const std::uint32_t c = x.dims.c;
  for (std::size_t row = 0; row < x.v.size(); row += c) {
    double mean = 0, square = 0, largest = 0;
    for (std::uint32_t i = 0; i < c; ++i) mean += x.v[row + i] / c;
    for (std::uint32_t i = 0; i < c; ++i) {
      square += (x.v[row + i] - mean) * (x.v[row + i] - mean) / c;
      largest = std::max(largest, x.mag[row + i]);
    }
    for (std::uint32_t i = 0; i < c; ++i) {
      y->mag[row + i] += 2 * largest / std::sqrt(square) * std::abs(gamma[i]);
    }
  }
}

}  // namespace

Tensor run_transformer(const std::vector<Step>& nodes, const Tensor& x) {
  const auto step = [&](std::size_t i, const std::vector<Tensor>& inputs) {
    return run(nodes[i].node, inputs, nodes[i].consts, nodes[i].output);
  };
  const Tensor y = step(3, {rounded(step(2, {rounded(step(1, {rounded(step(0, {x}))}))})), x});
  Tensor end = step(6, {rounded(step(5, {rounded(step(4, {y}))})), y});
  for (std::size_t i = 0; i < end.mag.size(); ++i) end.mag[i] += y.mag[i];
  if (nodes.size() == 7) return end;
  Tensor norm = step(7, {end});
  add_errors(end, nodes[7].consts[0], &norm);
  return norm;
}

}  // namespace spirkiln::oracle
