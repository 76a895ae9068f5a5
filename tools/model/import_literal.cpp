// SPDX-License-Identifier: Apache-2.0
// Arithmetic on constants of floats, done here once rather than at every inference.
#include "importer.hpp"

#include "pack_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace spirkiln::packer {
namespace {

constexpr std::size_t kMaxFolded = std::size_t{64} << 20;

void require_finite(const OnnxNode& node, const Literal& l) {
  for (const float f : l.floats) {
    if (!std::isfinite(f)) {
      throw PackError(
          ErrorCode::kNotFinite,
          fmt::format("node '{}' ({}): its constant result holds {}", node.name, node.op, f));
    }
  }
}

}  // namespace

Value Importer::fold_unary(const OnnxNode& node) {
  if (!holds_float_literal(node, 0)) {
    if (node.op == "Neg") return shape_arithmetic(node);
    fail(node, "it is not supported on a constant of integers");
  }
  Literal result = float_literal(node, 0);
  double low = 0, high = 0, exponent = 0, alpha = 0, beta = 0;
  if (node.op == "Clip") {
    const bool by_input = onnx_.opset >= 11;
    low = by_input ? (has_input(node, 1) ? scalar(node, 1) : -INFINITY)
                   : attr_float(node, "min", -INFINITY);
    high = by_input ? (has_input(node, 2) ? scalar(node, 2) : INFINITY)
                    : attr_float(node, "max", INFINITY);
  } else if (node.op == "Pow") {
    exponent = scalar(node, 1);
  } else if (node.op == "HardSigmoid") {
    alpha = attr_float(node, "alpha", 0.2);
    beta = attr_float(node, "beta", 0.5);
  }
  const auto hard = [](double v) { return std::fmin(std::fmax(v, 0), 1); };
  for (float& f : result.floats) {
    const double x = f;
    double y = 0;
    if (node.op == "Relu")
      y = x > 0 ? x : 0;
    else if (node.op == "Sigmoid")
      y = 1 / (1 + std::exp(-x));
    else if (node.op == "HardSigmoid")
      y = hard(alpha * x + beta);
    else if (node.op == "HardSwish")
      y = x * hard(x / 6 + 0.5);
    else if (node.op == "Clip")
      y = std::fmin(std::fmax(x, low), high);
    else if (node.op == "Pow")
      y = std::pow(x, exponent);
    else if (node.op == "Sqrt")
      y = std::sqrt(x);
    else if (node.op == "Erf")
      y = std::erf(x);
    else if (node.op == "Neg")
      y = -x;
    f = static_cast<float>(y);
  }
  require_finite(node, result);
  return result;
}

Value Importer::fold_binary(const OnnxNode& node) {
  const Literal &a = float_literal(node, 0), &b = float_literal(node, 1);
  const std::size_t rank = std::max(a.dims.size(), b.dims.size());
  const auto padded = [&](const Literal& l) {
    std::vector<std::int64_t> dims(rank - l.dims.size(), 1);
    dims.insert(dims.end(), l.dims.begin(), l.dims.end());
    return dims;
  };
  const auto da = padded(a), db = padded(b);
  Literal result;
  std::size_t count = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    if (da[i] != db[i] && da[i] != 1 && db[i] != 1) {
      fail(node, fmt::format("its constants of shapes {} and {} do not fit", a.dims, b.dims));
    }
    result.dims.push_back(da[i] == 1 ? db[i] : da[i]);
    const auto d = static_cast<std::size_t>(result.dims[i]);
    if (d != 0 && count > kMaxFolded / d) fail(node, "its constant result is too large");
    count *= d;
  }
  result.floats.resize(count);
  std::vector<std::int64_t> index(rank, 0);
  for (std::size_t e = 0; e < count; ++e) {
    std::size_t ia = 0, ib = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      ia = ia * static_cast<std::size_t>(da[i]) +
           static_cast<std::size_t>(da[i] == 1 ? 0 : index[i]);
      ib = ib * static_cast<std::size_t>(db[i]) +
           static_cast<std::size_t>(db[i] == 1 ? 0 : index[i]);
    }
    const double x = a.floats[ia], y = b.floats[ib];
    const double r = node.op == "Add"   ? x + y
                     : node.op == "Sub" ? x - y
                     : node.op == "Mul" ? x * y
                                        : x / y;
    result.floats[e] = static_cast<float>(r);
    for (std::size_t i = rank; i-- > 0;) {
      if (++index[i] < result.dims[i]) break;
      index[i] = 0;
    }
  }
  require_finite(node, result);
  return result;
}

Value Importer::fold_concat(const OnnxNode& node) {
  const Literal& first = float_literal(node, 0);
  const std::size_t axis = axis_index(node, attr_int(node, "axis", 1), first.dims.size());
  std::size_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(first.dims[i]);
  Literal result;
  result.dims = first.dims;
  result.dims[axis] = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Literal& l = float_literal(node, i);
    auto other = l.dims, mine = first.dims;
    if (other.size() != mine.size()) fail(node, "its constants differ in rank");
    result.dims[axis] += other[axis];
    other[axis] = mine[axis] = 0;
    if (other != mine) fail(node, "its constants differ in shape");
  }
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Literal& l = float_literal(node, i);
      const std::size_t run = l.floats.size() / std::max<std::size_t>(outer, 1);
      result.floats.insert(result.floats.end(),
                           l.floats.begin() + static_cast<std::ptrdiff_t>(o * run),
                           l.floats.begin() + static_cast<std::ptrdiff_t>((o + 1) * run));
    }
  }
  return result;
}

}  // namespace spirkiln::packer
