// SPDX-License-Identifier: Apache-2.0
// Pooling, the global mean and the squeeze-and-excite gate.
#include <algorithm>

#include "graph/lower/common.hpp"
#include "graph/lower/tuning.hpp"

namespace spirkiln::lower {

Result<Lowered> pool(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  const Dims& x = request.inputs[0];
  const Dims& y = request.output;
  const auto& i = request.node.i;
  for (int k = 0; k < 4; k++) {
    if (i[k] < 1 || i[k] > (1 << 15)) return unsupported(request, "kernel or stride out of range");
  }
  for (int k = 4; k < 8; k++) {
    if (i[k] < 0 || i[k] > (1 << 15)) return unsupported(request, "padding out of range");
  }
  // A window that begins outside the padded picture has nothing to count.
  if (x.c != y.c || x.n != y.n ||
      std::uint64_t{y.h - 1} * i[2] >= std::uint64_t{x.h} + i[4] + i[6] ||
      std::uint64_t{y.w - 1} * i[3] >= std::uint64_t{x.w} + i[5] + i[7]) {
    return unsupported(request, "the output's shape does not follow from the input's");
  }
  Dispatch d;
  d.kernel = request.node.op == model::Op::kMaxPool ? "pool_max" : "pool_avg";
  d.buffers = {{BufferKind::kInput, 0}, residual_ref(request), {BufferKind::kOutput, 0}};
  set_epilogue_specs(d, request.node);
  push_epilogue(d, request.node.epilogue);
  for (std::uint32_t v : {y.n, x.h, x.w, x.c4(), y.h, y.w}) d.push_u32(v);
  for (int k = 0; k < 9; k++) d.push_u32(static_cast<std::uint32_t>(i[k]));
  set_row_grid(d, std::uint64_t{y.w} * y.c4(), std::uint64_t{y.n} * y.h, request.traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

Result<Lowered> global_mean(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  const Dims& x = request.inputs[0];
  const Dims& y = request.output;
  if (!(y == Dims{x.n, 1, 1, x.c})) return unsupported(request, "the output is not N x 1 x 1 x C");
  const std::uint32_t hw = x.h * x.w;
  const std::uint32_t piece =
      std::max(request.traits.software ? tuning::kMeanPieceSoftware : tuning::kMeanPiece,
               (hw - 1) / tuning::kMeanMaxPieces + 1);
  const std::uint32_t pieces = (hw + piece - 1) / piece;
  const std::uint64_t sums = std::uint64_t{x.n} * pieces * x.c4();

  Dispatch part;
  part.kernel = "mean_partial";
  part.buffers = {{BufferKind::kInput, 0}, {BufferKind::kScratch, 0}};
  for (std::uint32_t v : {hw, x.c4(), x.n, piece, pieces}) part.push_u32(v);
  set_linear_grid(part, sums, request.traits);

  Dispatch sum;
  sum.kernel = "mean_final";
  sum.buffers = {{BufferKind::kScratch, 0}, residual_ref(request), {BufferKind::kOutput, 0}};
  set_epilogue_specs(sum, request.node);
  push_epilogue(sum, request.node.epilogue);
  sum.push_u32(x.c4());
  sum.push_u32(pieces);
  sum.push_f32(static_cast<float>(1.0 / hw));
  sum.local_size = {tuning::kMeanX, request.traits.software ? 1 : tuning::kMeanY, 1};
  sum.groups = {(x.c4() - 1) / tuning::kMeanX + 1, x.n, 1};
  if (sum.groups[0] > request.traits.max_group_count[0] ||
      sum.groups[1] > request.traits.max_group_count[1]) {
    return unsupported(request, "too many channels or pictures");
  }

  Lowered out;
  out.scratch_bytes = {sums * 16};
  out.dispatches = {std::move(part), std::move(sum)};
  return out;
}

Result<Lowered> squeeze_excite(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  const model::Node& node = request.node;
  const Dims& x = request.inputs[0];
  const Dims& y = request.output;
  if (x.h != 1 || x.w != 1 || y.h != 1 || y.w != 1 || x.n != y.n || node.i[12] < 1 ||
      static_cast<std::uint32_t>(node.i[10]) != x.c ||
      static_cast<std::uint32_t>(node.i[11]) != y.c) {
    return unsupported(request, "the shapes are not those of a gate on a mean");
  }
  const Dims middle{1, 1, 1, static_cast<std::uint32_t>(node.i[12])};
  const model::Epilogue mid{static_cast<model::Activation>(node.i[13]), node.f[0], node.f[1], 1, 0};
  if (mid.act > model::Activation::kGelu) return unsupported(request, "unknown activation");
  Lowered out;
  if (x.c4() > tuning::kSqueezeMaxVectors || middle.c4() > tuning::kSqueezeMaxVectors ||
      x.n > request.traits.max_group_count[0] || !activation_is_lines(mid.act) ||
      request.traits.max_storage_buffers < tuning::kSqueezeBindings) {
    const BufferRef hidden{BufferKind::kScratch, 0};
    const BufferRef input{BufferKind::kInput, 0};
    const auto constant = [](std::uint32_t k) { return BufferRef{BufferKind::kConst, k}; };
    out.scratch_bytes = {std::uint64_t{x.n} * middle.c4() * 16};  // 16: as fp32
    out.dispatches.push_back(matrix_product({input, input, constant(0), constant(1), constant(2),
                                             hidden, x.n, x.c4(), middle.c4(), mid, 0},
                                            request.traits));
    out.dispatches.push_back(matrix_product(
        {hidden, residual_ref(request), constant(3), constant(4), constant(5),
         BufferRef{BufferKind::kOutput, 0}, x.n, middle.c4(), y.c4(), node.epilogue, node.flags},
        request.traits));
    return out;
  }
  Dispatch d;
  d.kernel = "squeeze_excite";
  d.buffers = {{BufferKind::kInput, 0}, residual_ref(request)};
  for (std::uint32_t k = 0; k < 6; k++) d.buffers.push_back({BufferKind::kConst, k});
  d.buffers.push_back({BufferKind::kOutput, 0});
  set_epilogue_specs(d, node);
  push_epilogue(d, node.epilogue);
  push_epilogue(d, mid);
  for (std::uint32_t v : {x.c4(), middle.c4(), y.c4()}) d.push_u32(v);
  d.local_size = {tuning::kSqueezeX, tuning::kSqueezeY, 1};
  if (request.traits.max_invocations >= 1024 && request.traits.shared_bytes >= 32768) {
    d.local_size = {middle.c4() > 32 || y.c4() > 64 ? 64u : 32u, 16, 1};
  }
  if (request.traits.software) d.local_size = {8, 1, 1};
  while (d.local_size[0] * d.local_size[1] > request.traits.max_invocations) d.local_size[1] /= 2;
  d.groups = {x.n, 1, 1};
  out.dispatches.push_back(std::move(d));
  return out;
}

}  // namespace spirkiln::lower
