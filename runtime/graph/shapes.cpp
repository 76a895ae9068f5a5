// SPDX-License-Identifier: Apache-2.0
#include "graph/shapes.hpp"

#include <algorithm>
#include <optional>

namespace spirkiln {
namespace {

using namespace model;

constexpr std::int64_t kMaxDim = 1 << 24;
constexpr std::uint64_t kMaxVectors = 1ull << 31;

using Value = std::optional<std::int64_t>;

// Products of two in-range values cannot overflow 64 bits; anything beyond is no dimension.
constexpr std::int64_t kMaxValue = 1ll << 31;
Value in_range(std::int64_t v) {
  if (v > kMaxValue || v < -kMaxValue) return std::nullopt;
  return v;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}

Value apply(ExprOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case ExprOp::kAdd:
      return in_range(a + b);
    case ExprOp::kSub:
      return in_range(a - b);
    case ExprOp::kMul:
      return in_range(a * b);
    case ExprOp::kFloorDiv:
      return b > 0 ? in_range(floor_div(a, b)) : std::nullopt;
    case ExprOp::kCeilDiv:
      return b > 0 ? in_range(-floor_div(-a, b)) : std::nullopt;
    case ExprOp::kExactDiv:
      return b != 0 && a % b == 0 ? in_range(a / b) : std::nullopt;
    case ExprOp::kMin:
      return std::min(a, b);
    case ExprOp::kMax:
      return std::max(a, b);
    default:
      return std::nullopt;
  }
}

// Length of a sliding window's output, 0 when the window does not fit.
std::int64_t windows(std::int64_t size, const Node& n, int axis, std::int64_t dilation) {
  const std::int64_t reach = dilation * (n.i[axis] - 1) + 1;
  const std::int64_t room = size + n.i[4 + axis] + n.i[6 + axis] - reach;
  return room < 0 ? 0 : room / n.i[2 + axis] + 1;
}

// The output that the operator gives for these inputs, or nothing where the inputs do not fit.
std::optional<Dims> expected_output(const Node& n, std::span<const Dims> in, std::uint32_t c) {
  const Dims& x = in[0];
  auto dims = [&](std::int64_t h, std::int64_t w) -> std::optional<Dims> {
    if (h < 1 || w < 1 || h > kMaxDim || w > kMaxDim) return std::nullopt;
    return Dims{x.n, static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(w), c};
  };
  switch (n.op) {
    case Op::kConv:
    case Op::kDepthwise:
      return dims(windows(x.h, n, 0, n.i[8]), windows(x.w, n, 1, n.i[9]));
    case Op::kMaxPool:
    case Op::kAvgPool:
      return dims(windows(x.h, n, 0, 1), windows(x.w, n, 1, 1));
    case Op::kDeconv:
    case Op::kResize:
      return dims(std::int64_t{x.h} * n.i[0], std::int64_t{x.w} * n.i[1]);
    case Op::kGlobalMean:
      return Dims{x.n, 1, 1, c};
    case Op::kSqueezeExcite:
      if (x.h != 1 || x.w != 1) return std::nullopt;
      return Dims{x.n, 1, 1, c};
    case Op::kBinary: {
      const Dims& y = in[1];
      const bool same = y == x;
      const bool per_picture = y.h == 1 && y.w == 1 && y.c == x.c && (y.n == x.n || y.n == 1);
      const bool per_pixel = y.n == x.n && y.h == x.h && y.w == x.w && y.c == 1;
      if (!same && !per_picture && !per_pixel) return std::nullopt;
      return x;
    }
    case Op::kConcat:
      for (std::int32_t i = 1; i < n.i[0]; ++i) {
        const Dims& y = in[static_cast<std::size_t>(i)];
        if (y.n != x.n || y.h != x.h || y.w != x.w) return std::nullopt;
      }
      return Dims{x.n, x.h, x.w, c};
    case Op::kAttention:
      if (x.h != 1) return std::nullopt;
      return Dims{x.n, 1, x.w, c};
    case Op::kAffine:
    case Op::kLayerNorm:
    case Op::kSoftmax:
      return x;
  }
  return std::nullopt;
}

std::string shape_text(const InputShape& input) {
  return std::to_string(input.n) + " picture(s) of " + std::to_string(input.h) + " x " +
         std::to_string(input.w) + " (height x width)";
}

}  // namespace

std::string to_string(const Dims& d) {
  return std::to_string(d.n) + "x" + std::to_string(d.h) + "x" + std::to_string(d.w) + "x" +
         std::to_string(d.c);
}

std::vector<Value> evaluate(std::span<const Expr> exprs, const InputShape& input) {
  std::vector<Value> values(exprs.size());
  const std::int64_t dims[3] = {input.n, input.h, input.w};
  for (std::size_t i = 0; i < exprs.size(); ++i) {
    const Expr& e = exprs[i];
    if (e.op == ExprOp::kConst) {
      values[i] = e.a;
    } else if (e.op == ExprOp::kInput) {
      values[i] = in_range(dims[e.a]);
    } else {
      const Value a = values[static_cast<std::size_t>(e.a)];
      const Value b = values[static_cast<std::size_t>(e.b)];
      if (a && b) values[i] = apply(e.op, *a, *b);
    }
  }
  return values;
}

Result<std::vector<Dims>> tensor_shapes(const Model::State& model, const InputShape& input) {
  const std::string what = model.origin + " cannot take " + shape_text(input) + ": ";
  if (input.n < 1 || input.h < 1 || input.w < 1 || input.n > kMaxDim || input.h > kMaxDim ||
      input.w > kMaxDim) {
    return Error{ErrorCode::kInvalidArgument, what + "every dimension must be 1 to 2^24"};
  }
  const auto values = evaluate(model.exprs, input);
  for (const Constraint& c : model.constraints) {
    if (!values[c.a] || !values[c.b] || *values[c.a] != *values[c.b]) {
      return Error{ErrorCode::kInvalidArgument, what + std::string(model.string(c.message))};
    }
  }
  std::vector<Dims> shapes;
  for (std::uint32_t i = 0; i < model.tensors.size(); ++i) {
    std::uint32_t d[4];
    for (int k = 0; k < 4; ++k) {
      const Value v = values[model.tensors[i].dim[k]];
      if (!v || *v < 1 || *v > kMaxDim) {
        static constexpr const char* kName[4] = {"N", "H", "W", "C"};
        return Error{ErrorCode::kInvalidArgument,
                     what + "tensor " + std::string(model.tensor_name(i)) + " would have " +
                         kName[k] + " = " + (v ? std::to_string(*v) : "no value") +
                         ". Use a larger or smaller picture"};
      }
      d[k] = static_cast<std::uint32_t>(*v);
    }
    const Dims dims{d[0], d[1], d[2], d[3]};
    // Each factor is at most 2^24, so the first product fits; the second is compared by division.
    const std::uint64_t rows = std::uint64_t{dims.n} * dims.h;
    if (rows >= kMaxVectors || rows * dims.w >= kMaxVectors ||
        rows * dims.w >= kMaxVectors / dims.c4()) {
      return Error{ErrorCode::kInvalidArgument, what + "tensor " +
                                                    std::string(model.tensor_name(i)) + " (" +
                                                    to_string(dims) + ") is too large"};
    }
    shapes.push_back(dims);
  }
  const Dims& in = shapes[model.header.input_tensor];
  if (in.n != input.n || in.h != input.h || in.w != input.w) {
    return Error{ErrorCode::kInvalidArgument, what + "its input is " + to_string(in)};
  }
  std::vector<Dims> inputs;
  for (const Node& n : model.nodes) {
    inputs.clear();
    for (const std::uint32_t t : model.inputs_of(n)) inputs.push_back(shapes[t]);
    const Dims& out = shapes[n.output];
    const auto expected = expected_output(n, inputs, out.c);
    const bool residual_fits = (n.flags & kHasResidual) == 0 || inputs.back() == out;
    if (expected && *expected == out && residual_fits) continue;
    std::string text =
        what + std::string(op_name(n.op)) + " " + std::string(model.string(n.name)) + " of ";
    for (const Dims& d : inputs) text += to_string(d) + ", ";
    text += expected ? "gives " + to_string(*expected) : "is impossible";
    return Error{ErrorCode::kCorrupt, text + ", the pack says " + to_string(out)};
  }
  return shapes;
}

}  // namespace spirkiln
