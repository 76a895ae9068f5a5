// SPDX-License-Identifier: Apache-2.0
// A block of a transformer (attention and two products, each behind a layer norm and with what went
// in added) in one step.
#include <algorithm>

#include "graph/epilogue.hpp"
#include "graph/lower/common.hpp"
#include "graph/lower/window.hpp"

namespace spirkiln {
namespace {

using lower::unsupported;

// A pointwise convolution of these channels with nothing behind it but, where it is wished, a
// residual added at the end.
Status check_product(const LowerRequest& r, std::uint32_t in, std::uint32_t out, bool residual,
                     bool plain = true) {
  if (r.node.op != model::Op::kConv) return unsupported(r, "no product");
  if (Status s = lower::check_node(r, 1); !s) return s.error();
  if (Status s = lower::check_channels(r); !s) return s.error();
  const auto w = lower::read_window(r);
  if (!w) return w.error();
  if (!lower::is_pointwise(*w)) return unsupported(r, "not pointwise");
  if (r.inputs[0].c != in || r.output.c != out) return unsupported(r, "other channels");
  if (plain && !is_identity(r.node.epilogue)) return unsupported(r, "an activation");
  const std::uint32_t wanted = residual ? model::kHasResidual : 0u;
  if (r.node.flags != wanted) return unsupported(r, "the residual is not where the kernel has it");
  return Ok{};
}

Status check_norm(const LowerRequest& r) {
  if (r.node.op != model::Op::kLayerNorm) return unsupported(r, "no layer norm");
  if (Status s = lower::check_node(r, 1); !s) return s.error();
  if (!is_identity(r.node.epilogue) || r.node.flags != 0) {
    return unsupported(r, "an activation or a residual");
  }
  return Ok{};
}

}  // namespace

Result<Lowered> lower_transformer(const TransformerNodes& nodes) {
  if (nodes.size() != 7 && nodes.size() != 8) {
    return Error{ErrorCode::kUnsupported, "a transformer's block is seven nodes or eight"};
  }
  const bool last_norm = nodes.size() == 8;
  const LowerRequest& norm = nodes[0];
  const LowerRequest& attention = nodes[2];
  const LowerRequest& up = nodes[5];
  const DeviceTraits& traits = norm.traits;
  if (Status s = check_norm(norm); !s) return s.error();
  const Dims& x = norm.inputs[0];
  if (traits.matrix_m == 0 || traits.software || !traits.may_use("transformer_coopmat") ||
      traits.max_storage_buffers < tuning::kTransformerBindings) {
    return unsupported(norm, "not on this device");
  }
  if (attention.node.op != model::Op::kAttention ||
      attention.node.i[1] != tuning::kTransformerHead || attention.node.i[0] < 1 ||
      attention.node.i[0] > tuning::kTransformerMaxHeads || !is_identity(attention.node.epilogue) ||
      attention.node.flags != 0) {
    return unsupported(attention, "heads beyond what the kernel holds");
  }
  tuning::TransformerShape shape;
  shape.heads = static_cast<std::uint32_t>(attention.node.i[0]);
  shape.c4 = x.c4();
  shape.hidden4 = up.output.c4();
  // Each number of blocks is a pipeline, which takes a driver half a second to compile: short lines
  // share one, with blocks that weigh nothing.
  const std::uint32_t blocks = (x.w + 15) / 16;
  shape.blocks = std::max(blocks, tuning::kTransformerLeastBlocks);
  // Rows of weights begin at whole 16 bytes, and a block of 16 is not longer than a row.
  if (x.h != 1 || x.c % 8 != 0 || up.output.c % 8 != 0 || x.c < 16 || up.output.c < 16 ||
      blocks > tuning::kTransformerMostBlocks || x.c > tuning::kTransformerMaxChannels ||
      up.output.c > tuning::kTransformerMaxHidden) {
    return unsupported(norm, "channels or rows beyond what the kernel holds");
  }
  const std::uint32_t between = shape.heads * tuning::kTransformerHead;
  if (Status s = check_product(nodes[1], x.c, 3 * between, false); !s) return s.error();
  if (Status s = check_product(nodes[3], between, x.c, true); !s) return s.error();
  if (Status s = check_norm(nodes[4]); !s) return s.error();
  if (Status s = check_product(up, x.c, up.output.c, false, false); !s) return s.error();
  if (Status s = check_product(nodes[6], up.output.c, x.c, true); !s) return s.error();
  if (last_norm) {
    if (Status s = check_norm(nodes[7]); !s) return s.error();
  }
  const std::uint32_t invocations = shape.heads * traits.subgroup_size;
  if (invocations > std::min(traits.max_invocations, traits.max_group_size[0]) ||
      tuning::transformer_shared_bytes(shape, traits.subgroup_size) > traits.shared_bytes ||
      x.n > traits.max_group_count[1]) {
    return unsupported(norm, "a block beyond the device's workgroups");
  }

  Dispatch d;
  d.kernel = "transformer_coopmat";
  d.axes = {{"MATRIX", traits.matrix}};
  d.buffers.push_back({BufferKind::kInput, 0, 0});
  for (const auto& [node, consts] :
       {std::pair<std::uint32_t, std::uint32_t>{0, 2}, {1, 3}, {3, 3}, {4, 2}, {5, 3}, {6, 3}}) {
    for (std::uint32_t i = 0; i < consts; ++i) d.buffers.push_back({BufferKind::kConst, i, node});
  }
  d.buffers.push_back({BufferKind::kOutput});
  // Without a third norm the first one's numbers stand in, and are not read.
  for (std::uint32_t i = 0; i < 2; ++i) {
    d.buffers.push_back({BufferKind::kConst, i, last_norm ? 7u : 0u});
  }
  lower::set_epilogue_specs(d, up.node.epilogue, 0);
  d.specs.push_back({"heads", shape.heads});
  d.specs.push_back({"c4", shape.c4});
  d.specs.push_back({"hidden4", shape.hidden4});
  d.specs.push_back({"blocks", shape.blocks});
  lower::push_epilogue(d, up.node.epilogue);
  d.push_u32(x.w);
  d.push_f32(attention.node.f[0]);
  d.push_f32(norm.node.f[0]);
  d.push_f32(nodes[4].node.f[0]);
  d.push_f32(last_norm ? nodes[7].node.f[0] : 0);
  d.push_u32(last_norm);
  const double rows = static_cast<double>(x.pixels());
  d.flops = 2 * rows * x.c * (4.0 * between + 2.0 * up.output.c) + 4 * rows * x.w * between;
  d.local_size = {invocations, 1, 1};
  d.groups = {blocks, x.n, 1};
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

}  // namespace spirkiln
