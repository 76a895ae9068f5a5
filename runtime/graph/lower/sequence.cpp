// SPDX-License-Identifier: Apache-2.0
// Operators over the channels of a row: layer norm, softmax, attention.
#include <algorithm>

#include "graph/lower/common.hpp"
#include "graph/lower/tuning.hpp"

namespace spirkiln::lower {
namespace {

// A power of two that the device takes.
std::uint32_t row_group(std::uint32_t wanted, const DeviceTraits& traits) {
  while (wanted > traits.max_invocations || wanted > traits.max_group_size[0]) wanted /= 2;
  return std::max(wanted, 1u);
}

}  // namespace

Result<Lowered> layer_norm(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  const Dims& x = request.inputs[0];
  if (!(x == request.output)) return unsupported(request, "the output's shape is not the input's");
  Dispatch d;
  d.kernel = "layer_norm";
  d.buffers = {{BufferKind::kInput, 0},
               residual_ref(request),
               {BufferKind::kConst, 0},
               {BufferKind::kConst, 1},
               {BufferKind::kOutput, 0}};
  set_epilogue_specs(d, request.node);
  push_epilogue(d, request.node.epilogue);
  d.push_u32(x.c);
  d.push_u32(static_cast<std::uint32_t>(x.pixels()));
  d.push_f32(request.node.f[0]);
  d.local_size = {row_group(numbers(request.traits).norm_group, request.traits), 1, 1};
  set_group_grid(d, x.pixels(), request.traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

Result<Lowered> softmax(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  const Dims& x = request.inputs[0];
  if (!(x == request.output)) return unsupported(request, "the output's shape is not the input's");
  Dispatch d;
  d.kernel = "softmax";
  d.buffers = {{BufferKind::kInput, 0}, residual_ref(request), {BufferKind::kOutput, 0}};
  set_epilogue_specs(d, request.node);
  push_epilogue(d, request.node.epilogue);
  d.push_u32(x.c);
  d.push_u32(static_cast<std::uint32_t>(x.pixels()));
  d.local_size = {row_group(numbers(request.traits).softmax_group, request.traits), 1, 1};
  set_group_grid(d, x.pixels(), request.traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

Result<Lowered> attention(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  const Dims& x = request.inputs[0];
  const std::int64_t heads = request.node.i[0], dim = request.node.i[1];
  if (heads < 1 || dim < 1 || heads > 4096 || dim > 4096) {
    return unsupported(request, "heads or head dimension out of range");
  }
  const std::uint64_t channels = static_cast<std::uint64_t>(heads * dim);
  if (x.h != 1 || x.c != 3 * channels ||
      !(request.output == Dims{x.n, 1, x.w, static_cast<std::uint32_t>(channels)})) {
    return unsupported(request,
                       "the shapes are not N x 1 x T x 3*heads*dim and N x 1 x T x heads*dim");
  }
  const std::uint64_t dim4 = static_cast<std::uint64_t>(dim + 3) / 4;
  if (dim4 > tuning::kAttentionMaxDim4)
    return unsupported(request, "a head of more than 128 channels");
  const std::uint64_t heads64 = static_cast<std::uint64_t>(heads);
  const std::uint64_t most =
      std::min(request.traits.max_invocations, request.traits.max_group_size[0]);
  const tuning::Numbers& t = numbers(request.traits);
  std::uint64_t queries = t.attention_queries, parts = t.attention_parts;
  const auto fits = [&] {  // results as vec4, and a vec2 beside
    const std::uint64_t invocations = queries * parts * heads64;
    return invocations <= most &&
           invocations * ((dim4 | 1) * 16 + 8) <= request.traits.shared_bytes;
  };
  while (queries > 1 && !fits()) queries /= 2;
  while (parts > 1 && !fits()) parts /= 2;
  if (!fits()) {
    return unsupported(request,
                       "one position of all heads does not fit a workgroup of this device");
  }
  const std::uint64_t groups = (x.w + queries - 1) / queries;
  if (groups > request.traits.max_group_count[0] || x.n > request.traits.max_group_count[1]) {
    return unsupported(request, "too many positions");
  }
  Dispatch d;
  d.kernel = "attention";
  d.buffers = {{BufferKind::kInput, 0}, residual_ref(request), {BufferKind::kOutput, 0}};
  set_epilogue_specs(d, request.node);
  d.specs.push_back({"heads", static_cast<std::uint32_t>(heads)});
  d.specs.push_back({"dim4", static_cast<std::uint32_t>(dim4)});
  d.specs.push_back({"queries", static_cast<std::uint32_t>(queries)});
  d.specs.push_back({"block", t.attention_block});
  d.specs.push_back({"parts", static_cast<std::uint32_t>(parts)});
  push_epilogue(d, request.node.epilogue);
  d.push_u32(static_cast<std::uint32_t>(dim));
  d.push_u32(x.w);
  d.push_f32(request.node.f[0]);
  d.local_size = {static_cast<std::uint32_t>(queries * parts * heads64), 1, 1};
  d.groups = {static_cast<std::uint32_t>(groups), x.n, 1};
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

}  // namespace spirkiln::lower

namespace spirkiln {

Result<Lowered> lower_best(const Dims& output, bool of_logits, const DeviceTraits& traits) {
  if (output.vectors() == 0 || output.vectors() >= lower::kMaxVectors || output.c > (1u << 24)) {
    return Error{ErrorCode::kUnsupported, "the best channel of " + lower::to_string(output) +
                                              ": expected 1 to 2^24 of 2^31"};
  }
  Dispatch d;
  d.kernel = "best";
  d.buffers = {{BufferKind::kInput, 0}, {BufferKind::kFloatsOut}};
  if (of_logits) d.specs.push_back({"shares", 1});
  d.push_u32(output.c);
  d.push_u32(static_cast<std::uint32_t>(output.pixels()));
  d.local_size = {lower::row_group(lower::numbers(traits).softmax_group, traits), 1, 1};
  lower::set_group_grid(d, output.pixels(), traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

}  // namespace spirkiln
