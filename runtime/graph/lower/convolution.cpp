// SPDX-License-Identifier: Apache-2.0
// Dense, depthwise and transposed convolutions.
#include <algorithm>

#include "graph/lower/common.hpp"
#include "graph/lower/tuning.hpp"
#include "graph/lower/window.hpp"

namespace spirkiln::lower {
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

Status check_deconv(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  if (Status s = check_channels(request); !s) return s.error();
  const Dims& x = request.inputs[0];
  const Dims& y = request.output;
  const std::int64_t kh = request.node.i[0], kw = request.node.i[1];
  if (kh < 1 || kw < 1 || kh > 64 || kw > 64) return unsupported(request, "kernel out of range");
  if (y.n != x.n || y.h != x.h * kh || y.w != x.w * kw) {
    return unsupported(request, "the output's size is not the input's times the kernel");
  }
  return Ok{};
}

namespace {

void bind_weighted(Dispatch& d, const LowerRequest& request) {
  d.buffers = {{BufferKind::kInput, 0}, residual_ref(request),   {BufferKind::kConst, 0},
               {BufferKind::kConst, 1}, {BufferKind::kConst, 2}, {BufferKind::kOutput, 0}};
  set_epilogue_specs(d, request.node);
  push_epilogue(d, request.node.epilogue);
}

using tuning::Fact;
using tuning::Family;

// Whether the device may run a family's kernels. `prefix`: "gemm", "conv" or "deconv", which their
// names begin with.
bool may_run(Family family, const DeviceTraits& t, const std::string& prefix) {
  switch (family) {
    case Family::kMatrix:
      return t.matrix_m != 0;
    case Family::kSubgroup:
      return t.subgroup_size == tuning::kSubgroupLanes &&
             t.max_invocations >= tuning::kSubgroupLocal &&
             t.max_group_size[0] >= tuning::kSubgroupLocal && t.may_use(prefix + "_subgroup");
    case Family::kTiled:
      return t.max_invocations >= tuning::kGemmInvocations &&
             t.shared_bytes >= tuning::kGemmSharedBytes && t.may_use(prefix + "_nc");
    case Family::kPlain:
      break;
  }
  return true;
}

// The first of the tuning's that the device may run.
Family family(const DeviceTraits& t, const std::string& prefix, std::uint32_t rows,
              std::uint64_t k4, std::uint64_t n4) {
  const auto fact = [&](Fact f, Family) -> std::uint64_t {
    if (f == Fact::kSoftware) return t.software;
    if (f == Fact::kMatrixM) return t.matrix_m;
    if (f == Fact::kMatrixN) return t.matrix_n;
    if (f == Fact::kRows) return rows;
    return f == Fact::kK4 ? k4 : f == Fact::kN4 ? n4 : k4 * n4;
  };
  for (auto rules = tuning::built_in().product; !rules.empty(); rules = rules.subspan(1)) {
    const Family* choice = tuning::first_of(rules.first(1), fact);
    if (choice != nullptr && may_run(*choice, t, prefix)) return *choice;
  }
  return Family::kPlain;
}

void set_subgroup_grid(Dispatch& d, std::uint32_t rows, std::uint32_t n4,
                       const DeviceTraits& traits) {
  d.local_size = {tuning::kSubgroupLocal, 1, 1};
  set_matrix_grid(d, rows, n4, tuning::kSubgroupLocal * tuning::kSubgroupTileP,
                  tuning::kSubgroupTileN, traits);
}

void set_tiled_grid(Dispatch& d, std::uint32_t rows, std::uint32_t k4, std::uint32_t n4,
                    const DeviceTraits& traits) {
  const auto use = [&](const tuning::GemmShape& shape) {
    d.local_size = {shape.x, shape.y, shape.z};
    set_matrix_grid(d, rows, n4, shape.y * tuning::kGemmTileM, shape.x, traits);
    return shape;
  };
  const tuning::Product p{rows, k4, n4};
  tuning::GemmShape shape = use(tuning::tiled_shape(tuning::built_in(), p));
  const std::uint64_t groups = std::uint64_t{d.groups[0]} * d.groups[1] * d.groups[2];
  const tuning::GemmShape* split = tuning::tiled_split(tuning::built_in(), p, groups);
  if (split != nullptr && traits.max_invocations >= split->x * split->y * split->z) {
    shape = use(*split);
  }
  if (shape.tile_k4 != tuning::kGemmDefaultTileK4) {
    d.specs.push_back({"tile_k4", shape.tile_k4});
  }
}

// One tile of kRegTileM rows and one vector of columns for each invocation.
void set_plain_grid(Dispatch& d, std::uint32_t rows, std::uint32_t n4, const DeviceTraits& traits) {
  set_linear_grid(d, std::uint64_t{(rows - 1) / tuning::kRegTileM + 1} * n4, traits);
}

void push_all(Dispatch& d, std::initializer_list<std::uint32_t> values) {
  for (std::uint32_t v : values) d.push_u32(v);
}

void push_window(Dispatch& d, const Window& w) {
  for (std::int64_t v :
       {w.kh, w.kw, w.stride_h, w.stride_w, w.top, w.left, w.dilation_h, w.dilation_w}) {
    d.push_u32(static_cast<std::uint32_t>(v));
  }
}

}  // namespace

void set_matrix_grid(Dispatch& d, std::uint32_t rows, std::uint32_t n4, std::uint32_t block_m,
                     std::uint32_t block_n, const DeviceTraits& traits) {
  const std::uint32_t lines = (rows - 1) / block_m + 1;
  const std::uint32_t folds = (lines - 1) / traits.max_group_count[1] + 1;
  d.groups = {(n4 - 1) / block_n + 1, (lines - 1) / folds + 1, folds};
}

void use_matrices(Dispatch& d, const tuning::Product& p, const DeviceTraits& traits) {
  use_matrices(d, p, tuning::matrix_tile(tuning::built_in(), p, traits.matrix_m, traits.matrix_n),
               traits);
}

void use_matrices(Dispatch& d, const tuning::Product& p, const tuning::MatrixTile& wanted,
                  const DeviceTraits& traits) {
  const auto threads = [&](const tuning::MatrixTile& m) {
    return m.groups_k * m.groups_m * m.groups_n * traits.subgroup_size;
  };
  const bool fits =
      threads(wanted) <= traits.max_invocations &&
      tuning::matrix_shared_bytes(wanted, traits.matrix_m, traits.matrix_n) <= traits.shared_bytes;
  const tuning::MatrixTile t =
      fits ? wanted : tuning::matrix_lite(tuning::built_in(), p, traits.matrix_n);
  d.kernel = d.kernel == "gemm_nc"   ? "gemm_coopmat"
             : d.kernel == "conv_nc" ? "window_coopmat"
                                     : "deconv_coopmat";
  d.axes = {{"MATRIX", traits.matrix}};
  std::erase_if(d.specs, [](const SpecChoice& s) { return s.name == "tile_k4"; });
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::uint32_t>{"tile_k4", t.tile_k4},
        {"groups_k", t.groups_k},
        {"groups_m", t.groups_m},
        {"groups_n", t.groups_n},
        {"matrices_m", t.matrices_m},
        {"matrices_n", t.matrices_n}}) {
    d.specs.push_back({name, value});
  }
  d.local_size = {threads(t), 1, 1};
  set_matrix_grid(d, p.rows, p.n4, t.groups_m * t.matrices_m * traits.matrix_m,
                  t.groups_n * t.matrices_n * traits.matrix_n / 4, traits);
}

bool use_window_matrices(Dispatch& d, const Dims& x, const Dims& y, std::uint32_t kh,
                         std::uint32_t kw, std::uint32_t pad_top, std::uint32_t pad_left,
                         const tuning::WindowTile& t, const DeviceTraits& traits) {
  const std::uint32_t own_n4 = t.matrices_n * traits.matrix_n / 4;
  if (x.c4() % (traits.matrix_k / 4) != 0 || y.c4() % own_n4 != 0 || y.c4() % 2 != 0) {
    return false;
  }
  const std::uint32_t lines = t.groups * t.matrices_m;
  // Arrays as conv_coopmat.comp has them.
  const auto stride = [](std::uint32_t vectors) { return vectors + 2 - vectors / 2 % 2 * 2; };
  const std::uint64_t shared =
      std::uint64_t{8} * (lines + kh - 1) * (traits.matrix_m + kw - 1) * stride(x.c4()) +
      32 * x.c4() * stride(own_n4) +
      16 * t.groups * traits.matrix_m * (own_n4 + 1 - own_n4 / 2 % 2);
  const std::uint32_t threads = t.groups * traits.subgroup_size;
  if (shared > traits.shared_bytes || threads > traits.max_invocations) return false;
  const std::uint64_t tiles_y = (y.h - 1) / lines + 1, tiles_x = (y.w - 1) / traits.matrix_m + 1;
  const std::uint64_t tiles = y.n * tiles_y * tiles_x;
  if (tiles > traits.max_group_count[1]) return false;
  d.kernel = "conv_coopmat";
  d.axes = {{"MATRIX", traits.matrix}};
  std::erase_if(d.specs, [](const SpecChoice& s) { return s.name == "tile_k4"; });
  for (const auto& [name, value] : {std::pair<std::string_view, std::uint32_t>{"in4", x.c4()},
                                    {"kh", kh},
                                    {"kw", kw},
                                    {"groups", t.groups},
                                    {"matrices_m", t.matrices_m},
                                    {"matrices_n", t.matrices_n}}) {
    d.specs.push_back({name, value});
  }
  d.push_words = 8;  // what stands behind the epilogue is the kernel's own
  push_all(d, {y.c4(), x.h, x.w, y.h, y.w, pad_top, pad_left, static_cast<std::uint32_t>(tiles_y),
               static_cast<std::uint32_t>(tiles_x)});
  d.local_size = {threads, 1, 1};
  d.groups = {y.c4() / own_n4, static_cast<std::uint32_t>(tiles), 1};
  return true;
}

Dispatch matrix_product(const MatrixProduct& m, const DeviceTraits& traits) {
  Dispatch d;
  d.buffers = {m.input, m.residual, m.weights, m.scale, m.bias, m.output};
  push_epilogue(d, m.epilogue);
  set_epilogue_specs(d, m.epilogue, m.flags);
  push_all(d, {m.rows, m.k4, m.n4});
  d.flops = 32.0 * m.rows * m.k4 * m.n4;
  switch (family(traits, "gemm", m.rows, m.k4, m.n4)) {
    case Family::kMatrix:
      d.kernel = "gemm_nc";
      use_matrices(d, {m.rows, m.k4, m.n4}, traits);
      break;
    case Family::kSubgroup:
      d.kernel = "gemm_subgroup";
      set_subgroup_grid(d, m.rows, m.n4, traits);
      break;
    case Family::kTiled:
      d.kernel = "gemm_nc";
      set_tiled_grid(d, m.rows, m.k4, m.n4, traits);
      break;
    case Family::kPlain:
      d.kernel = "gemm_reg";
      push_all(d, {m.n4, 0, 0, 0});  // out4; the rest belongs to the scattering form
      set_plain_grid(d, m.rows, m.n4, traits);
      break;
  }
  return d;
}

Result<Lowered> conv(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  if (Status s = check_channels(request); !s) return s.error();
  const auto window = read_window(request);
  if (!window) return window.error();
  const Window& w = *window;

  Lowered out;
  if (is_pointwise(w)) {
    const Dims& x = request.inputs[0];
    out.dispatches.push_back(matrix_product({{BufferKind::kInput, 0},
                                             residual_ref(request),
                                             {BufferKind::kConst, 0},
                                             {BufferKind::kConst, 1},
                                             {BufferKind::kConst, 2},
                                             {BufferKind::kOutput, 0},
                                             static_cast<std::uint32_t>(x.pixels()),
                                             x.c4(),
                                             request.output.c4(),
                                             request.node.epilogue,
                                             request.node.flags},
                                            request.traits));
    return out;
  }
  const Dims& x = request.inputs[0];
  const Dims& y = request.output;
  Dispatch d;
  bind_weighted(d, request);
  const std::uint32_t rows = static_cast<std::uint32_t>(y.pixels());
  const auto push_shape = [&] {
    push_all(d, {x.h, x.w, y.h, y.w});
    push_window(d, w);
  };
  d.flops = 32.0 * rows * x.c4() * static_cast<double>(w.kh * w.kw) * y.c4();
  const std::uint64_t k4 = std::uint64_t{x.c4()} * static_cast<std::uint64_t>(w.kh * w.kw);
  const Family which = family(request.traits, "conv", rows, k4, y.c4());
  switch (which) {
    case Family::kSubgroup:
      d.kernel = "conv_subgroup";
      push_all(d, {rows, x.c4(), y.c4()});
      push_shape();
      set_subgroup_grid(d, rows, y.c4(), request.traits);
      break;
    case Family::kMatrix:
    case Family::kTiled: {
      if (k4 >= kMaxVectors) return unsupported(request, "a window of 2^31 vectors or more");
      d.kernel = "conv_nc";
      push_all(d, {rows, static_cast<std::uint32_t>(k4), y.c4(), x.c4()});
      push_shape();
      const bool matrices = which == Family::kMatrix;
      if (matrices && w.stride_h == 1 && w.stride_w == 1 && w.dilation_h == 1 &&
          w.dilation_w == 1 &&
          use_window_matrices(d, x, y, static_cast<std::uint32_t>(w.kh),
                              static_cast<std::uint32_t>(w.kw), static_cast<std::uint32_t>(w.top),
                              static_cast<std::uint32_t>(w.left),
                              tuning::window_tile(tuning::built_in(), y.n, y.h, y.w, y.c4(),
                                                  request.traits.matrix_m, request.traits.matrix_n),
                              request.traits)) {
        break;
      }
      if (matrices) {
        use_matrices(d, {rows, static_cast<std::uint32_t>(k4), y.c4()}, request.traits);
      } else {
        set_tiled_grid(d, rows, static_cast<std::uint32_t>(k4), y.c4(), request.traits);
      }
      break;
    }
    case Family::kPlain: {
      d.kernel = "conv_direct";
      push_all(d, {y.n, x.h, x.w, x.c4(), y.h, y.w, y.c4()});
      push_window(d, w);
      const std::uint64_t tiles = (y.w - 1) / tuning::kConvTileW + 1;
      set_linear_grid(d, std::uint64_t{y.n} * y.h * tiles * y.c4(), request.traits);
      break;
    }
  }
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
  const Window& w = *window;
  Dispatch d;
  bind_weighted(d, request);
  const tuning::Numbers& t = numbers(request.traits);
  if (!request.traits.may_use("depthwise_line") || w.kw > t.depthwise_line_max_kw ||
      w.stride_w > t.depthwise_line_max_step || w.dilation_w > t.depthwise_line_max_step) {
    d.kernel = "depthwise";
  } else {
    d.kernel = "depthwise_line";
    d.specs.push_back({"kw", static_cast<std::uint32_t>(w.kw)});
    d.specs.push_back({"stride_w", static_cast<std::uint32_t>(w.stride_w)});
    d.specs.push_back({"dilation_w", static_cast<std::uint32_t>(w.dilation_w)});
  }
  for (std::uint32_t v : {y.n, x.h, x.w, x.c4(), y.h, y.w}) d.push_u32(v);
  d.flops = 8.0 * static_cast<double>(y.vectors()) * static_cast<double>(w.kh * w.kw);
  push_window(d, w);
  const bool line = d.kernel == "depthwise_line";
  std::uint32_t tile_w = line ? t.depthwise_tile_line : t.depthwise_tile;
  const auto jobs = [&] { return std::uint64_t{y.n} * y.h * ((y.w - 1) / tile_w + 1) * y.c4(); };
  while (tile_w > 1 && jobs() < t.depthwise_jobs) tile_w /= 2;
  if (tile_w != tuning::kDepthwiseTileW) d.specs.push_back({"tile_w", tile_w});
  set_linear_grid(d, jobs(), request.traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

Result<Lowered> deconv(const LowerRequest& request) {
  if (Status s = check_deconv(request); !s) return s.error();
  const Dims& x = request.inputs[0];
  const Dims& y = request.output;
  const std::int64_t kh = request.node.i[0], kw = request.node.i[1];
  const std::uint32_t rows = static_cast<std::uint32_t>(x.pixels());
  const std::uint64_t columns = static_cast<std::uint64_t>(kh * kw) * y.c4();
  if (columns >= kMaxVectors) return unsupported(request, "2^31 columns or more");
  const std::uint32_t n4 = static_cast<std::uint32_t>(columns);
  Dispatch d;
  bind_weighted(d, request);
  push_all(d, {rows, x.c4(), n4, y.c4(), x.w, static_cast<std::uint32_t>(kh),
               static_cast<std::uint32_t>(kw)});
  d.flops = 32.0 * rows * x.c4() * n4;
  const Family which = family(request.traits, "deconv", rows, x.c4(), n4);
  switch (which) {
    case Family::kSubgroup:
      d.kernel = "deconv_subgroup";
      set_subgroup_grid(d, rows, n4, request.traits);
      break;
    case Family::kMatrix:
    case Family::kTiled:
      d.kernel = "deconv_nc";
      if (which == Family::kMatrix) {
        use_matrices(d, {rows, x.c4(), n4}, request.traits);
      } else {
        set_tiled_grid(d, rows, x.c4(), n4, request.traits);
      }
      break;
    case Family::kPlain:
      d.kernel = "deconv";
      set_plain_grid(d, rows, n4, request.traits);
      break;
  }
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

}  // namespace spirkiln::lower
