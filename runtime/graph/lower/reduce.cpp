// SPDX-License-Identifier: Apache-2.0
// Pooling, the global mean and the squeeze-and-excite gate.
#include <algorithm>

#include "graph/epilogue.hpp"
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

namespace {

// A workgroup of x times y invocations, with less of y where the device has smaller ones.
void set_shared_group(Dispatch& d, std::uint32_t x, std::uint32_t y, const DeviceTraits& traits) {
  while (y > 1 && (x * y > traits.max_invocations || y > traits.max_group_size[1])) y /= 2;
  d.local_size = {x, y, 1};
}

// The first phase of a mean: sums over pieces of each picture.
struct MeanSums {
  Dispatch dispatch;  // from input 0 to scratch 0
  std::uint32_t pieces;
  std::uint64_t bytes;
};
MeanSums mean_sums(const Dims& x, const DeviceTraits& traits) {
  const tuning::Numbers& t = numbers(traits);
  const std::uint32_t hw = x.h * x.w;
  const std::uint32_t piece = std::max(t.mean_piece, (hw - 1) / t.mean_max_pieces + 1);
  MeanSums sums;
  sums.pieces = (hw + piece - 1) / piece;
  const std::uint64_t count = std::uint64_t{x.n} * sums.pieces * x.c4();
  sums.bytes = count * 16;
  Dispatch& d = sums.dispatch;
  d.kernel = "mean_partial";
  d.buffers = {{BufferKind::kInput, 0}, {BufferKind::kScratch, 0}};
  for (std::uint32_t v : {hw, x.c4(), x.n, piece, sums.pieces}) d.push_u32(v);
  set_linear_grid(d, count, traits);
  return sums;
}

}  // namespace

Result<Lowered> global_mean(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  const Dims& x = request.inputs[0];
  const Dims& y = request.output;
  if (!(y == Dims{x.n, 1, 1, x.c})) return unsupported(request, "the output is not N x 1 x 1 x C");
  MeanSums sums = mean_sums(x, request.traits);

  Dispatch sum;
  sum.kernel = "mean_final";
  sum.buffers = {{BufferKind::kScratch, 0}, residual_ref(request), {BufferKind::kOutput, 0}};
  set_epilogue_specs(sum, request.node);
  push_epilogue(sum, request.node.epilogue);
  sum.push_u32(x.c4());
  sum.push_u32(sums.pieces);
  sum.push_f32(static_cast<float>(1.0 / (x.h * x.w)));
  const tuning::Numbers& t = numbers(request.traits);
  set_shared_group(sum, t.mean_x, t.mean_y, request.traits);
  sum.groups = {(x.c4() - 1) / t.mean_x + 1, x.n, 1};
  if (sum.groups[0] > request.traits.max_group_count[0] ||
      sum.groups[1] > request.traits.max_group_count[1]) {
    return unsupported(request, "too many channels or pictures");
  }

  Lowered out;
  out.scratch_bytes = {sums.bytes};
  out.dispatches = {std::move(sums.dispatch), std::move(sum)};
  return out;
}

namespace {

// What squeeze_excite.comp takes the mean of.
enum class GateSource : std::uint32_t { kMean = 0, kPixels = 1, kSums = 2 };

Status check_gate(const LowerRequest& request) {
  const model::Node& node = request.node;
  const Dims& y = request.output;
  const Dims& x = request.inputs[0];
  if (x.h != 1 || x.w != 1 || y.h != 1 || y.w != 1 || x.n != y.n || node.i[12] < 1 ||
      static_cast<std::uint32_t>(node.i[10]) != x.c ||
      static_cast<std::uint32_t>(node.i[11]) != y.c) {
    return unsupported(request, "the shapes are not those of a gate on a mean");
  }
  if (static_cast<model::Activation>(node.i[13]) > model::Activation::kGelu) {
    return unsupported(request, "unknown activation");
  }
  return Ok{};
}

Dims middle_of(const model::Node& node) {
  return {1, 1, 1, static_cast<std::uint32_t>(node.i[12])};
}
model::Epilogue middle_epilogue(const model::Node& node) {
  return {static_cast<model::Activation>(node.i[13]), node.f[0], node.f[1], 1, 0};
}

// Whether one workgroup of squeeze_excite.comp takes the gate.
bool fits_one_group(const LowerRequest& request) {
  const Dims& x = request.inputs[0];
  return x.c4() <= tuning::kSqueezeMaxVectors &&
         middle_of(request.node).c4() <= tuning::kSqueezeMaxVectors &&
         x.n <= request.traits.max_group_count[0] &&
         activation_is_lines(middle_epilogue(request.node).act) &&
         request.traits.max_storage_buffers >= tuning::kSqueezeBindings;
}

using tuning::Fact;

// A workgroup's invocations: side by side on the vectors of outputs, and sharing inputs.
void set_gate_group(Dispatch& d, const LowerRequest& gate) {
  const DeviceTraits& traits = gate.traits;
  const tuning::GateGroup group = *tuning::first_of(
      tuning::built_in().gate_group, [&](Fact f, const tuning::GateGroup&) -> std::uint64_t {
        if (f == Fact::kSoftware) return traits.software;
        if (f == Fact::kInvocations) return traits.max_invocations;
        if (f == Fact::kSharedBytes) return traits.shared_bytes;
        return f == Fact::kMiddle4 ? middle_of(gate.node).c4() : gate.output.c4();
      });
  set_shared_group(d, group.x, group.y, traits);
}

// What squeeze_excite and squeeze_excite_scale begin with: operands and epilogue of `ends`, which
// is the gate or the product, and the two layers of the gate.
Dispatch two_layers(std::string_view kernel, const LowerRequest& ends, const LowerRequest& gate) {
  Dispatch d;
  d.kernel = kernel;
  d.buffers = {{BufferKind::kInput, 0}, residual_ref(ends)};
  for (std::uint32_t k = 0; k < 6; k++) d.buffers.push_back({BufferKind::kConst, k});
  d.buffers.push_back({BufferKind::kOutput, 0});
  set_epilogue_specs(d, ends.node);
  push_epilogue(d, ends.node.epilogue);
  push_epilogue(d, middle_epilogue(gate.node));
  set_gate_group(d, gate);
  return d;
}

// Sizes of the layers, and of the picture whose mean they take.
void push_layers(Dispatch& d, const LowerRequest& gate, std::uint32_t rows, std::uint32_t pixels) {
  const std::uint32_t in4 = gate.inputs[0].c4(), mid4 = middle_of(gate.node).c4();
  for (std::uint32_t v : {in4, mid4, gate.output.c4(), rows}) d.push_u32(v);
  d.push_f32(static_cast<float>(1.0 / pixels));
}

// `rows` vectors of channels a picture in the source, `pixels` that they stand for.
Dispatch gate_dispatch(const LowerRequest& request, GateSource source, std::uint32_t rows,
                       std::uint32_t pixels) {
  Dispatch d = two_layers("squeeze_excite", request, request);
  // Scales are floats, as the sums are: something has to be bound.
  const BufferRef unused{BufferKind::kConst, 1};
  d.buffers.push_back(source == GateSource::kSums ? BufferRef{BufferKind::kScratch, 0} : unused);
  if (source != GateSource::kMean)
    d.specs.push_back({"source", static_cast<std::uint32_t>(source)});
  push_layers(d, request, rows, pixels);
  d.groups = {request.inputs[0].n, 1, 1};
  return d;
}

}  // namespace

Result<Lowered> squeeze_excite(const LowerRequest& request) {
  if (Status s = check_node(request, 1); !s) return s.error();
  if (Status s = check_gate(request); !s) return s.error();
  const model::Node& node = request.node;
  const Dims& x = request.inputs[0];
  const Dims& y = request.output;
  Lowered out;
  if (fits_one_group(request)) {
    out.dispatches.push_back(gate_dispatch(request, GateSource::kMean, 1, 1));
    return out;
  }
  const Dims middle = middle_of(node);
  const BufferRef hidden{BufferKind::kScratch, 0};
  const BufferRef input{BufferKind::kInput, 0};
  const auto constant = [](std::uint32_t k) { return BufferRef{BufferKind::kConst, k}; };
  out.scratch_bytes = {std::uint64_t{x.n} * middle.c4() * 16};  // 16: as fp32
  out.dispatches.push_back(
      matrix_product({input, input, constant(0), constant(1), constant(2), hidden, x.n, x.c4(),
                      middle.c4(), middle_epilogue(node), 0},
                     request.traits));
  out.dispatches.push_back(matrix_product(
      {hidden, residual_ref(request), constant(3), constant(4), constant(5),
       BufferRef{BufferKind::kOutput, 0}, x.n, middle.c4(), y.c4(), node.epilogue, node.flags},
      request.traits));
  return out;
}

namespace {

Status check_gate_of_mean(const LowerRequest& mean, const LowerRequest& gate) {
  if (Status s = check_node(mean, 1); !s) return s.error();
  if (Status s = check_node(gate, 1); !s) return s.error();
  if (Status s = check_gate(gate); !s) return s.error();
  const Dims& x = mean.inputs[0];
  const bool plain = mean.node.flags == 0 && is_identity(mean.node.epilogue);
  if (!plain || !numbers(gate.traits).mean_in_gate || !fits_one_group(gate) ||
      !(mean.output == Dims{x.n, 1, 1, x.c}) || !(gate.inputs[0] == mean.output)) {
    return unsupported(gate, "the mean stays a step of its own");
  }
  return Ok{};
}

// Whose each buffer is: inputs of the node `inputs`, constants of the gate.
void name_nodes(Dispatch* d, std::uint32_t inputs, std::uint32_t gate) {
  for (BufferRef& ref : d->buffers) {
    if (ref.kind == BufferKind::kInput) ref.node = inputs;
    if (ref.kind == BufferKind::kConst) ref.node = gate;
  }
}

// Two steps for pictures that are not small: what is left of the first layer of each piece, then
// the gate and the product.
Result<Lowered> squeeze_then_excite(const LowerRequest& mean, const LowerRequest& gate,
                                    const LowerRequest& product) {
  const DeviceTraits& traits = gate.traits;
  const tuning::Numbers& t = numbers(traits);
  const Dims& x = mean.inputs[0];
  const std::uint32_t mid4 = middle_of(gate.node).c4(), hw = x.h * x.w;
  if (x.vectors() > t.excite_max_vectors || !traits.may_use("squeeze") ||
      !traits.may_use("excite") || traits.max_storage_buffers < tuning::kExciteBindings ||
      x.n > traits.max_group_count[2]) {
    return unsupported(product, "the product stays a step of its own");
  }
  Dispatch squeeze;
  squeeze.kernel = "squeeze";
  squeeze.buffers = {{BufferKind::kInput, 0}, {BufferKind::kConst, 0}, {BufferKind::kScratch, 0}};
  const std::uint32_t piece = std::max(t.squeeze_piece, (hw - 1) / t.squeeze_max_pieces + 1);
  for (const std::uint32_t v : {x.c4(), mid4, hw, piece}) squeeze.push_u32(v);
  set_shared_group(squeeze, t.squeeze_x, t.squeeze_y, traits);
  squeeze.groups = {(x.c4() - 1) / t.squeeze_x + 1, (hw - 1) / piece + 1, x.n};
  const std::uint32_t parts = squeeze.groups[0] * squeeze.groups[1];
  name_nodes(&squeeze, 0, 1);

  Dispatch excite;
  excite.kernel = "excite";
  excite.buffers = {{BufferKind::kInput, 0}, residual_ref(product), {BufferKind::kScratch, 0}};
  for (std::uint32_t k = 1; k < 6; k++) excite.buffers.push_back({BufferKind::kConst, k});
  excite.buffers.push_back({BufferKind::kOutput, 0});
  set_epilogue_specs(excite, product.node);
  push_epilogue(excite, product.node.epilogue);
  push_epilogue(excite, middle_epilogue(gate.node));
  push_epilogue(excite, gate.node.epilogue);
  for (const std::uint32_t v : {mid4, x.c4(), hw, parts}) excite.push_u32(v);
  excite.push_f32(static_cast<float>(1.0 / hw));
  set_shared_group(excite, t.excite_x, t.excite_y, traits);
  const std::uint32_t slices = (x.c4() - 1) / t.excite_x + 1;
  const std::uint32_t share = excite.local_size[1] * t.excite_vectors;  // pixels
  const std::uint64_t others = std::uint64_t{slices} * x.n;
  const std::uint32_t most =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(t.excite_max_groups / others, 1));
  excite.groups = {slices, std::min((hw - 1) / share + 1, most), x.n};
  name_nodes(&excite, 2, 1);
  for (const Dispatch* d : {&squeeze, &excite}) {
    if (d->local_size[0] > traits.max_group_size[0] || d->groups[1] > traits.max_group_count[1]) {
      return unsupported(product, "beyond the device's workgroups");
    }
  }
  Lowered out;
  out.scratch_bytes = {std::uint64_t{x.n} * parts * mid4 * 16};
  out.dispatches = {std::move(squeeze), std::move(excite)};
  return out;
}

}  // namespace

Result<Lowered> scaled_by_gate(const LowerRequest& mean, const LowerRequest& gate,
                               const LowerRequest& product) {
  if (Status s = check_gate_of_mean(mean, gate); !s) return s.error();
  if (Status s = check_node(product, 2); !s) return s.error();
  const Dims& x = mean.inputs[0];
  if (static_cast<model::BinaryOp>(product.node.i[0]) != model::BinaryOp::kMul ||
      gate.node.flags != 0 || !activation_is_lines(gate.node.epilogue.act) ||
      !(product.inputs[0] == x) || !(product.inputs[1] == gate.output) || !(product.output == x)) {
    return unsupported(product, "the product stays a step of its own");
  }
  if (!gate.traits.may_use("squeeze_excite_scale") ||
      std::uint64_t{x.h} * x.w * x.c4() > numbers(gate.traits).scale_max_vectors ||
      x.n > gate.traits.max_group_count[1]) {
    return squeeze_then_excite(mean, gate, product);
  }
  const std::uint32_t hw = x.h * x.w;
  Dispatch d = two_layers("squeeze_excite_scale", product, gate);
  push_epilogue(d, gate.node.epilogue);
  push_layers(d, gate, hw, hw);
  name_nodes(&d, 2, 1);
  const std::uint32_t share =
      d.local_size[0] * d.local_size[1] * numbers(gate.traits).scale_vectors;
  d.groups = {(hw * x.c4() - 1) / share + 1, x.n, 1};
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

Result<Lowered> gate_of_mean(const LowerRequest& mean, const LowerRequest& gate) {
  if (Status s = check_gate_of_mean(mean, gate); !s) return s.error();
  const Dims& x = mean.inputs[0];
  Lowered out;
  const std::uint32_t hw = x.h * x.w;
  if (std::uint64_t{hw} * x.c4() <= numbers(gate.traits).gate_mean_vectors) {
    out.dispatches.push_back(gate_dispatch(gate, GateSource::kPixels, hw, hw));
  } else {
    MeanSums sums = mean_sums(x, gate.traits);
    out.scratch_bytes = {sums.bytes};
    out.dispatches = {std::move(sums.dispatch),
                      gate_dispatch(gate, GateSource::kSums, sums.pieces, hw)};
  }
  name_nodes(&out.dispatches.back(), 0, 1);
  return out;
}

}  // namespace spirkiln::lower
