// SPDX-License-Identifier: Apache-2.0
// Operators that compute each value from the values at one place, or only move values.
#include "graph/lower/common.hpp"

namespace spirkiln::lower {

Result<Lowered> binary(const LowerRequest& request) {
  if (Status s = check_node(request, 2); !s) return s.error();
  const Dims& x = request.inputs[0];
  const Dims& y = request.inputs[1];
  if (!(x == request.output))
    return unsupported(request, "the output's shape is not the first input's");
  if (request.node.i[0] < 0 || request.node.i[0] > 3)
    return unsupported(request, "unknown operation");
  std::uint32_t spread;
  if (y == x)
    spread = 0;
  else if (y == Dims{x.n, 1, 1, x.c})
    spread = 1;
  else if (y == Dims{1, 1, 1, x.c})
    spread = 2;
  else if (y == Dims{x.n, x.h, x.w, 1})
    spread = 3;
  else
    return unsupported(request, "the second input's shape does not spread over the first's");

  Dispatch d;
  d.kernel = "binary";
  d.buffers = {{BufferKind::kInput, 0},
               {BufferKind::kInput, 1},
               residual_ref(request),
               {BufferKind::kOutput, 0}};
  set_epilogue_specs(d, request.node);
  if (spread != 0) d.specs.push_back({"spread", spread});
  push_epilogue(d, request.node.epilogue);
  d.push_u32(static_cast<std::uint32_t>(x.vectors()));
  d.push_u32(x.c4());
  d.push_u32(x.h * x.w);
  d.push_u32(static_cast<std::uint32_t>(request.node.i[0]));
  set_linear_grid(d, x.vectors(), request.traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

Result<Lowered> affine(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  const Dims& x = request.inputs[0];
  if (!(x == request.output)) return unsupported(request, "the output's shape is not the input's");
  Dispatch d;
  d.kernel = "affine";
  d.buffers = {{BufferKind::kInput, 0},
               residual_ref(request),
               {BufferKind::kConst, 0},
               {BufferKind::kConst, 1},
               {BufferKind::kOutput, 0}};
  set_epilogue_specs(d, request.node);
  push_epilogue(d, request.node.epilogue);
  d.push_u32(static_cast<std::uint32_t>(x.vectors()));
  d.push_u32(x.c4());
  set_linear_grid(d, x.vectors(), request.traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

Result<Lowered> resize(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  const Dims& x = request.inputs[0];
  const Dims& y = request.output;
  const std::int64_t fh = request.node.i[0], fw = request.node.i[1];
  if (fh < 1 || fw < 1 || y.n != x.n || y.c != x.c || y.h != x.h * fh || y.w != x.w * fw) {
    return unsupported(request, "the output is not a whole multiple of the input");
  }
  Dispatch d;
  d.kernel = "resize";
  d.buffers = {{BufferKind::kInput, 0}, residual_ref(request), {BufferKind::kOutput, 0}};
  set_epilogue_specs(d, request.node);
  push_epilogue(d, request.node.epilogue);
  for (std::uint32_t v : {x.w, x.c4(), y.n * y.h}) d.push_u32(v);
  d.push_u32(static_cast<std::uint32_t>(fh));
  d.push_u32(static_cast<std::uint32_t>(fw));
  set_row_grid(d, std::uint64_t{y.w} * y.c4(), std::uint64_t{y.n} * y.h, request.traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

Result<Lowered> concat(const LowerRequest& request) {
  constexpr std::int32_t kMost = 8;
  const std::int32_t count = request.node.i[0];
  if (count < 1 || count > kMost) return unsupported(request, "more than eight inputs, or none");
  if (Status s = check_node(request, static_cast<std::uint32_t>(count)); !s) return s.error();
  const Dims& y = request.output;
  std::uint64_t total = 0;
  bool aligned = true;
  for (std::int32_t i = 0; i < count; i++) {
    const Dims& x = request.inputs[static_cast<std::size_t>(i)];
    if (x.n != y.n || x.h != y.h || x.w != y.w)
      return unsupported(request, "inputs of different sizes");
    // The last input may end anywhere: what follows it is padding.
    if (i + 1 < count && x.c % 4 != 0) aligned = false;
    total += x.c;
  }
  if (total != y.c)
    return unsupported(request, "the output's channels are not the sum of the inputs'");

  Dispatch d;
  d.kernel = "concat";
  for (std::int32_t i = 0; i < kMost; i++) {
    d.buffers.push_back({BufferKind::kInput, static_cast<std::uint32_t>(i < count ? i : 0)});
  }
  d.buffers.push_back(residual_ref(request));
  d.buffers.push_back({BufferKind::kOutput, 0});
  set_epilogue_specs(d, request.node);
  if (count != kMost) d.specs.push_back({"inputs", static_cast<std::uint32_t>(count)});
  if (aligned) d.specs.push_back({"aligned", 1});
  push_epilogue(d, request.node.epilogue);
  d.push_u32(static_cast<std::uint32_t>(y.vectors()));
  std::uint32_t end = 0;
  for (std::int32_t i = 0; i < kMost; i++) {
    if (i < count) end += request.inputs[static_cast<std::size_t>(i)].c;
    d.push_u32(end);
  }
  set_linear_grid(d, y.vectors(), request.traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

}  // namespace spirkiln::lower
