// SPDX-License-Identifier: Apache-2.0
// Operators that compute each value from the values at one place, or only move values.
#include <span>
#include <vector>

#include "graph/lower/common.hpp"
#include "graph/lower/tuning.hpp"

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

namespace {

struct ConcatPart {
  BufferRef buffer;
  std::uint32_t channels;
};

// One pass of concat.comp: `parts` one behind the other, then the epilogue.
Dispatch concat_of(std::span<const ConcatPart> parts, BufferRef residual, BufferRef output,
                   std::uint64_t pixels, const model::Epilogue& epilogue, std::uint32_t flags,
                   const DeviceTraits& traits) {
  const bool narrow = parts.size() <= tuning::kConcatNarrow;
  const std::size_t slots = narrow ? tuning::kConcatNarrow : tuning::kConcatWide;
  Dispatch d;
  d.kernel = "concat";
  if (narrow) d.axes.push_back({"INPUTS", "4"});
  // The last part may end anywhere: what follows it is padding.
  bool aligned = true;
  for (std::size_t i = 0; i < slots; i++) {
    d.buffers.push_back(parts[i < parts.size() ? i : 0].buffer);
    if (i + 1 < parts.size() && parts[i].channels % 4 != 0) aligned = false;
  }
  d.buffers.push_back(residual);
  d.buffers.push_back(output);
  set_epilogue_specs(d, epilogue, flags);
  if (parts.size() != slots) {
    d.specs.push_back({"inputs", static_cast<std::uint32_t>(parts.size())});
  }
  if (aligned) d.specs.push_back({"aligned", 1});
  push_epilogue(d, epilogue);
  std::uint32_t channels = 0;
  for (const ConcatPart& part : parts) channels += part.channels;
  const std::uint64_t vectors = pixels * ((channels + 3) / 4);
  d.push_u32(static_cast<std::uint32_t>(vectors));
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < slots; i++) {
    if (i < parts.size()) end += parts[i].channels;
    d.push_u32(end);
  }
  set_linear_grid(d, vectors, traits);
  return d;
}

}  // namespace

Result<Lowered> concat(const LowerRequest& request) {
  const std::int32_t count = request.node.i[0];
  if (count < 1 || count > static_cast<std::int32_t>(tuning::kConcatWide)) {
    return unsupported(request, "more than eight inputs, or none");
  }
  if (Status s = check_node(request, static_cast<std::uint32_t>(count)); !s) return s.error();
  const Dims& y = request.output;
  std::uint64_t total = 0;
  std::vector<ConcatPart> parts;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(count); i++) {
    const Dims& x = request.inputs[i];
    if (x.n != y.n || x.h != y.h || x.w != y.w)
      return unsupported(request, "inputs of different sizes");
    parts.push_back({{BufferKind::kInput, i}, x.c});
    total += x.c;
  }
  if (total != y.c)
    return unsupported(request, "the output's channels are not the sum of the inputs'");

  Lowered out;
  const DeviceTraits& traits = request.traits;
  const std::size_t most = traits.max_storage_buffers >= tuning::kConcatWide + tuning::kConcatOthers
                               ? tuning::kConcatWide
                               : tuning::kConcatNarrow;
  while (parts.size() > most) {
    // The first few become one, without the epilogue.
    const std::span first(parts.data(), most);
    std::uint32_t channels = 0;
    for (const ConcatPart& part : first) channels += part.channels;
    const BufferRef scratch{BufferKind::kScratch,
                            static_cast<std::uint32_t>(out.scratch_bytes.size())};
    out.scratch_bytes.push_back(y.pixels() * ((channels + 3) / 4) * 16);  // 16: as fp32
    constexpr model::Epilogue kNothing{model::Activation::kNone, 0, 0, 1, 0};
    out.dispatches.push_back(
        concat_of(first, first.front().buffer, scratch, y.pixels(), kNothing, 0, traits));
    parts.erase(parts.begin() + 1, parts.begin() + static_cast<std::ptrdiff_t>(most));
    parts.front() = {scratch, channels};
  }
  out.dispatches.push_back(concat_of(parts, residual_ref(request), {BufferKind::kOutput, 0},
                                     y.pixels(), request.node.epilogue, request.node.flags,
                                     traits));
  return out;
}

}  // namespace spirkiln::lower
