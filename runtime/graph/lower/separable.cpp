// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution and the pointwise one that alone reads it, in one step.
#include <algorithm>

#include "graph/lower/common.hpp"
#include "graph/lower/tuning.hpp"
#include "graph/lower/window.hpp"

namespace spirkiln {
namespace {

using lower::unsupported;

// Makes a tile fit the device: fewer columns, then fewer rows, in a workgroup, and less of K at a
// time.
bool fit(tuning::SeparableTile* t, std::uint32_t in4, const DeviceTraits& traits) {
  while (t->groups_m * t->groups_n * traits.subgroup_size > traits.max_invocations) {
    if (t->groups_m * t->groups_n == 1) return false;
    std::uint32_t& groups = t->groups_n > 1 ? t->groups_n : t->groups_m;
    groups = (groups + 1) / 2;
  }
  while (tuning::separable_shared_bytes(*t, in4, traits.matrix_m, traits.matrix_n) >
         traits.shared_bytes) {
    if (t->tile_k4 % 2 != 0 || t->tile_k4 / 2 % (traits.matrix_k / 4) != 0) return false;
    t->tile_k4 /= 2;
  }
  return true;
}

// What the kernel asks of the depthwise convolution, but for its window.
bool suits(const LowerRequest& window, const LowerRequest& point) {
  return window.node.op == model::Op::kDepthwise && window.node.flags == 0 &&
         window.inputs.size() == 1 && lower::activation_is_lines(window.node.epilogue.act) &&
         point.node.op == model::Op::kConv && point.inputs.at(0) == window.output;
}

}  // namespace

Result<Lowered> lower_separable(const LowerRequest& window, const LowerRequest& point) {
  const DeviceTraits& traits = point.traits;
  if (!suits(window, point)) return unsupported(point, "no depthwise separable convolution");
  if (traits.matrix_m == 0 || !traits.may_use("separable_coopmat") ||
      traits.max_storage_buffers < tuning::kSeparableBindings) {
    return unsupported(point, "not on this device");
  }
  for (const LowerRequest* r : {&window, &point}) {
    if (Status s = lower::check_node(*r, 1); !s) return s.error();
    if (Status s = lower::check_channels(*r); !s) return s.error();
  }
  const auto read = lower::read_window(window);
  if (!read) return read.error();
  const auto one = lower::read_window(point);
  if (!one) return one.error();
  if (!lower::is_pointwise(*one)) return unsupported(point, "not pointwise");
  const lower::Window& w = *read;
  const Dims& x = window.inputs[0];
  const Dims& m = window.output;
  const std::uint32_t in4 = m.c4(), n4 = point.output.c4();
  if (x.c != m.c) return unsupported(window, "channels change");
  if (w.dilation_h != 1 || w.dilation_w != 1 || w.kh > tuning::kSeparableMaxWindow ||
      w.kw > tuning::kSeparableMaxWindow || w.stride_w > tuning::kSeparableMaxStep || n4 % 2 != 0) {
    return unsupported(window, "a window or channels beyond what the kernel holds");
  }
  const std::uint32_t rows = static_cast<std::uint32_t>(m.pixels());
  const auto tile =
      tuning::separable_tile(tuning::built_in(), {rows, in4, n4}, static_cast<std::uint32_t>(w.kw),
                             traits.matrix_m, traits.matrix_n);
  if (!tile) return unsupported(window, "two steps are faster");
  tuning::SeparableTile t = *tile;
  t.tile_k4 = std::max(t.tile_k4, traits.matrix_k / 4);
  if (!fit(&t, in4, traits)) return unsupported(window, "tiles beyond the device's workgroups");
  std::uint32_t tile_w = t.tile_w;
  while (m.w % tile_w != 0) tile_w /= 2;

  Dispatch d;
  d.kernel = "separable_coopmat";
  d.axes = {{"MATRIX", traits.matrix}};
  const BufferRef picture{BufferKind::kInput, 0, 0};
  d.buffers = {picture,
               lower::has_residual(point.node) ? BufferRef{BufferKind::kInput, 1, 1} : picture,
               {BufferKind::kConst, 0, 0},
               {BufferKind::kConst, 1, 0},
               {BufferKind::kConst, 2, 0},
               {BufferKind::kConst, 0, 1},
               {BufferKind::kConst, 1, 1},
               {BufferKind::kConst, 2, 1},
               {BufferKind::kOutput}};
  lower::set_epilogue_specs(d, point.node);
  for (const auto& [name, value] : {std::pair<std::string_view, std::uint32_t>{"in4", in4},
                                    {"kh", static_cast<std::uint32_t>(w.kh)},
                                    {"kw", static_cast<std::uint32_t>(w.kw)},
                                    {"stride_w", static_cast<std::uint32_t>(w.stride_w)},
                                    {"tile_w", tile_w},
                                    {"tile_k4", t.tile_k4},
                                    {"groups_m", t.groups_m},
                                    {"groups_n", t.groups_n},
                                    {"matrices_m", t.matrices_m},
                                    {"matrices_n", t.matrices_n}}) {
    d.specs.push_back({name, value});
  }
  lower::push_epilogue(d, point.node.epilogue);
  lower::push_epilogue(d, window.node.epilogue);
  for (const std::int64_t v :
       {std::int64_t{rows}, std::int64_t{n4}, std::int64_t{x.h}, std::int64_t{x.w},
        std::int64_t{m.h}, std::int64_t{m.w}, w.stride_h, w.top, w.left}) {
    d.push_u32(static_cast<std::uint32_t>(v));
  }
  d.flops = 32.0 * rows * in4 * n4 + 8.0 * rows * in4 * static_cast<double>(w.kh * w.kw);
  d.local_size = {t.groups_m * t.groups_n * traits.subgroup_size, 1, 1};
  lower::set_matrix_grid(d, rows, n4, t.groups_m * t.matrices_m * traits.matrix_m,
                         t.groups_n * t.matrices_n * traits.matrix_n / 4, traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

}  // namespace spirkiln
