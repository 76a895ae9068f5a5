// SPDX-License-Identifier: Apache-2.0
// Dense, depthwise and transposed convolutions.
#include <algorithm>

#include "graph/lower/common.hpp"
#include "graph/lower/tuning.hpp"

namespace spirkiln::lower {
namespace {

struct Window {
  std::int64_t kh, kw, stride_h, stride_w, top, left, bottom, right, dilation_h, dilation_w;
};

Result<Window> read_window(const LowerRequest& request) {
  const auto& i = request.node.i;
  const Window w{i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], i[8], i[9]};
  constexpr std::int64_t kMost = 1 << 15;  // products of two stay far inside 32 bits
  for (std::int64_t v : {w.kh, w.kw, w.stride_h, w.stride_w, w.dilation_h, w.dilation_w}) {
    if (v < 1 || v > kMost) return unsupported(request, "kernel, stride or dilation out of range");
  }
  for (std::int64_t v : {w.top, w.left, w.bottom, w.right}) {
    if (v < 0 || v > kMost) return unsupported(request, "padding out of range");
  }
  const Dims& x = request.inputs[0];
  const std::int64_t outh =
      (x.h + w.top + w.bottom - (w.kh - 1) * w.dilation_h - 1) / w.stride_h + 1;
  const std::int64_t outw =
      (x.w + w.left + w.right - (w.kw - 1) * w.dilation_w - 1) / w.stride_w + 1;
  if (x.n != request.output.n || outh != request.output.h || outw != request.output.w) {
    return unsupported(request,
                       "the output's size does not follow from kernel, stride and padding");
  }
  return w;
}

Status check_channels(const LowerRequest& request) {
  const auto& i = request.node.i;
  if (i[10] < 1 || i[11] < 1 || static_cast<std::uint32_t>(i[10]) != request.inputs[0].c ||
      static_cast<std::uint32_t>(i[11]) != request.output.c) {
    return unsupported(request, "channel counts disagree with the weights");
  }
  return Ok{};
}

void bind_weighted(Dispatch& d, const LowerRequest& request) {
  d.buffers = {{BufferKind::kInput, 0}, residual_ref(request),   {BufferKind::kConst, 0},
               {BufferKind::kConst, 1}, {BufferKind::kConst, 2}, {BufferKind::kOutput, 0}};
  set_epilogue_specs(d, request.node);
  push_epilogue(d, request.node.epilogue);
}

// What conv_subgroup.comp asks of a device; elsewhere it would be wrong, not only slow.
bool by_subgroup(const DeviceTraits& traits) {
  return traits.software && traits.subgroup_size == tuning::kSubgroupLanes &&
         traits.max_invocations >= tuning::kSubgroupLocal &&
         traits.max_group_size[0] >= tuning::kSubgroupLocal;
}

// Workgroups of conv_subgroup.comp: columns along x, pixels along y folded over z.
void set_subgroup_grid(Dispatch& d, std::uint32_t rows, std::uint32_t n4,
                       const DeviceTraits& traits) {
  d.local_size = {tuning::kSubgroupLocal, 1, 1};
  const std::uint32_t block = tuning::kSubgroupLocal * tuning::kSubgroupTileP;
  const std::uint32_t lines = (rows - 1) / block + 1;
  const std::uint32_t folds = (lines - 1) / traits.max_group_count[1] + 1;
  d.groups = {(n4 - 1) / tuning::kSubgroupTileN + 1, (lines - 1) / folds + 1, folds};
}

// The matrix product: every pixel's channels times the weights.
Dispatch matrix_product(const LowerRequest& request) {
  const Dims& x = request.inputs[0];
  const std::uint32_t rows = static_cast<std::uint32_t>(x.pixels());
  const std::uint32_t n4 = request.output.c4();
  Dispatch d;
  bind_weighted(d, request);
  d.push_u32(rows);
  d.push_u32(x.c4());
  d.push_u32(n4);
  if (by_subgroup(request.traits)) {
    d.kernel = "gemm_subgroup";
    set_subgroup_grid(d, rows, n4, request.traits);
    return d;
  }
  if (request.traits.software || request.traits.max_invocations < tuning::kGemmThreads) {
    d.kernel = "gemm_reg";
    d.push_u32(n4);                             // out4
    for (int i = 0; i < 3; i++) d.push_u32(0);  // of the scattering form
    set_linear_grid(d, std::uint64_t{(rows - 1) / tuning::kRegTileM + 1} * n4, request.traits);
    return d;
  }
  d.kernel = "gemm_nc";
  const tuning::GemmShape shape = tuning::gemm_shape(n4);
  d.local_size = {shape.x, shape.y, 1};
  const std::uint32_t block_m = shape.y * tuning::kGemmTileM;
  const std::uint32_t block_n = shape.x * tuning::kGemmTileN;
  const std::uint32_t lines = (rows - 1) / block_m + 1;
  const std::uint32_t folds = (lines - 1) / request.traits.max_group_count[1] + 1;
  d.groups = {(n4 - 1) / block_n + 1, (lines - 1) / folds + 1, folds};
  return d;
}

void push_window(Dispatch& d, const Window& w) {
  for (std::int64_t v : {w.kh, w.kw, w.stride_h, w.stride_w, w.top, w.left}) {
    d.push_u32(static_cast<std::uint32_t>(v));
  }
}

}  // namespace

Result<Lowered> conv(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  if (Status s = check_channels(request); !s) return s.error();
  const auto window = read_window(request);
  if (!window) return window.error();
  const Window& w = *window;

  Lowered out;
  if (w.kh == 1 && w.kw == 1 && w.stride_h == 1 && w.stride_w == 1 &&
      (w.top | w.left | w.bottom | w.right) == 0) {
    out.dispatches.push_back(matrix_product(request));
    return out;
  }
  const Dims& x = request.inputs[0];
  const Dims& y = request.output;
  Dispatch d;
  bind_weighted(d, request);
  const bool subgroup = by_subgroup(request.traits);
  if (subgroup) {
    d.kernel = "conv_subgroup";
    for (std::uint32_t v :
         {static_cast<std::uint32_t>(y.pixels()), x.c4(), y.c4(), x.h, x.w, y.h, y.w}) {
      d.push_u32(v);
    }
  } else {
    d.kernel = "conv_direct";
    for (std::uint32_t v : {y.n, x.h, x.w, x.c4(), y.h, y.w, y.c4()}) d.push_u32(v);
  }
  push_window(d, w);
  d.push_u32(static_cast<std::uint32_t>(w.dilation_h));
  d.push_u32(static_cast<std::uint32_t>(w.dilation_w));
  if (subgroup) {
    set_subgroup_grid(d, static_cast<std::uint32_t>(y.pixels()), y.c4(), request.traits);
    out.dispatches.push_back(std::move(d));
    return out;
  }
  const std::uint64_t tiles = (y.w + tuning::kConvTileW - 1) / tuning::kConvTileW;
  set_linear_grid(d, std::uint64_t{y.n} * y.h * tiles * y.c4(), request.traits);
  out.dispatches.push_back(std::move(d));
  return out;
}

Result<Lowered> depthwise(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  if (Status s = check_channels(request); !s) return s.error();
  const auto window = read_window(request);
  if (!window) return window.error();
  if (request.inputs[0].c != request.output.c) return unsupported(request, "channels change");
  const Dims& x = request.inputs[0];
  const Dims& y = request.output;
  Dispatch d;
  d.kernel = "depthwise";
  bind_weighted(d, request);
  for (std::uint32_t v : {y.n, x.h, x.w, x.c4(), y.h, y.w}) d.push_u32(v);
  push_window(d, *window);
  d.push_u32(static_cast<std::uint32_t>(window->dilation_h));
  d.push_u32(static_cast<std::uint32_t>(window->dilation_w));
  const std::uint64_t tiles = (y.w + tuning::kDepthwiseTileW - 1) / tuning::kDepthwiseTileW;
  set_linear_grid(d, std::uint64_t{y.n} * y.h * tiles * y.c4(), request.traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

Result<Lowered> deconv(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  if (Status s = check_channels(request); !s) return s.error();
  const Dims& x = request.inputs[0];
  const Dims& y = request.output;
  const std::int64_t kh = request.node.i[0], kw = request.node.i[1];
  if (kh < 1 || kw < 1 || kh > 64 || kw > 64) return unsupported(request, "kernel out of range");
  if (y.n != x.n || y.h != x.h * kh || y.w != x.w * kw) {
    return unsupported(request, "the output's size is not the input's times the kernel");
  }
  const std::uint32_t rows = static_cast<std::uint32_t>(x.pixels());
  const std::uint32_t n4 = static_cast<std::uint32_t>(kh * kw) * y.c4();
  Dispatch d;
  bind_weighted(d, request);
  for (std::uint32_t v : {rows, x.c4(), n4, y.c4(), x.w}) d.push_u32(v);
  d.push_u32(static_cast<std::uint32_t>(kh));
  d.push_u32(static_cast<std::uint32_t>(kw));
  if (by_subgroup(request.traits)) {
    d.kernel = "deconv_subgroup";
    set_subgroup_grid(d, rows, n4, request.traits);
  } else {
    d.kernel = "deconv";
    set_linear_grid(d, std::uint64_t{(rows - 1) / tuning::kRegTileM + 1} * n4, request.traits);
  }
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

}  // namespace spirkiln::lower
