// SPDX-License-Identifier: Apache-2.0
// Every operator of model_format.hpp in double precision, written for clearness alone, with a bound
// on the size of what was added up: the measure of how much rounding may do.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/dispatch.hpp"

namespace spirkiln::oracle {

// Tight N x H x W x C values. `mag` of an output is, for each value, the sum of the magnitudes that
// rounding errors are relative to: sum |a||b| through scale and bias, carried through activation,
// post scale and residual. Inputs leave it empty.
struct Tensor {
  Dims dims;
  std::vector<double> v;
  std::vector<double> mag;

  double at(std::uint32_t n, std::uint32_t h, std::uint32_t w, std::uint32_t c) const {
    return v[((std::uint64_t{n} * dims.h + h) * dims.w + w) * dims.c + c];
  }
};

// `consts` hold the values as stored: padded as the operator's contract says.
Tensor run(const model::Node& node, const std::vector<Tensor>& inputs,
           const std::vector<std::vector<double>>& consts, const Dims& output);

double activation(const model::Epilogue& e, double v);

// A node and what it is run on.
struct Step {
  model::Node node;
  std::vector<std::vector<double>> consts;
  Dims output;
};
// The seven or eight nodes of lower_transformer() on `x`: what is the left operand of a product is
// rounded to halves, as the kernel by cooperative matrices has it; all else is exact.
Tensor run_transformer(const std::vector<Step>& nodes, const Tensor& x);

}  // namespace spirkiln::oracle
