// SPDX-License-Identifier: Apache-2.0
#include "graph/lower/common.hpp"

#include <algorithm>
#include <limits>

#include "graph/lower/tuning.hpp"

namespace spirkiln::lower {

const char* op_name(model::Op op) {
  static constexpr const char* kNames[] = {
      "conv",   "depthwise", "deconv", "max pool", "average pool", "global mean", "squeeze-excite",
      "binary", "affine",    "resize", "concat",   "layer norm",   "attention",   "softmax"};
  const auto i = static_cast<std::uint32_t>(op);
  return i < std::size(kNames) ? kNames[i] : "unknown operator";
}

std::string to_string(const Dims& d) {
  return std::to_string(d.n) + "x" + std::to_string(d.h) + "x" + std::to_string(d.w) + "x" +
         std::to_string(d.c);
}

Error unsupported(const LowerRequest& request, const std::string& why) {
  std::string text = op_name(request.node.op);
  text += " (";
  for (std::size_t i = 0; i < request.inputs.size(); i++) {
    text += (i == 0 ? "" : ", ") + to_string(request.inputs[i]);
  }
  text += " -> " + to_string(request.output) + "): " + why;
  return Error{ErrorCode::kUnsupported, text};
}

bool activation_is_lines(model::Activation act) {
  return static_cast<std::uint32_t>(act) <=
         static_cast<std::uint32_t>(model::Activation::kHardSwish);
}

Status check_node(const LowerRequest& request, std::uint32_t operands) {
  const std::uint32_t expected = operands + (has_residual(request.node) ? 1 : 0);
  if (request.inputs.size() != expected) {
    return unsupported(request, std::to_string(request.inputs.size()) + " inputs where " +
                                    std::to_string(expected) + " are expected");
  }
  if (request.node.epilogue.act > model::Activation::kGelu) {
    return unsupported(request, "unknown activation");
  }
  const auto fits = [](const Dims& d) {
    return d.n > 0 && d.h > 0 && d.w > 0 && d.c > 0 && d.pixels() < kMaxVectors &&
           d.vectors() < kMaxVectors;
  };
  for (const Dims& d : request.inputs) {
    if (!fits(d)) return unsupported(request, "an input is empty or has 2^31 vectors or more");
  }
  if (!fits(request.output)) {
    return unsupported(request, "the output is empty or has 2^31 vectors or more");
  }
  if (has_residual(request.node) && !(request.inputs.back() == request.output)) {
    return unsupported(request, "the residual's shape is not the output's");
  }
  return Ok{};
}

BufferRef residual_ref(const LowerRequest& request) {
  if (!has_residual(request.node)) return {BufferKind::kInput, 0};
  return {BufferKind::kInput, static_cast<std::uint32_t>(request.inputs.size() - 1)};
}

void push_epilogue(Dispatch& d, const model::Epilogue& e) {
  // Not the largest float: what overflows has to stay visible in the results.
  constexpr float kFar = std::numeric_limits<float>::infinity();
  float a = 1, b = 0, lo = -kFar, hi = kFar;
  std::uint32_t gate = 0;
  switch (e.act) {
    case model::Activation::kRelu:
      lo = 0;
      break;
    case model::Activation::kClip:
      lo = e.a;
      hi = e.b;
      break;
    case model::Activation::kHardSigmoid:
    case model::Activation::kHardSwish:
      a = e.a;
      b = e.b;
      lo = 0;
      hi = 1;
      gate = e.act == model::Activation::kHardSwish;
      break;
    default:
      break;
  }
  for (float v : {a, b, lo, hi, e.post_scale, e.post_bias}) d.push_f32(v);
  d.push_u32(gate);
  d.push_u32(0);
}

void set_epilogue_specs(Dispatch& d, const model::Epilogue& epilogue, std::uint32_t flags) {
  if (!activation_is_lines(epilogue.act)) {
    d.specs.push_back({"act_kind", static_cast<std::uint32_t>(epilogue.act)});
  }
  if (flags & model::kHasResidual) {
    d.specs.push_back({"residual", (flags & model::kResidualBefore) ? 2u : 1u});
  }
}

namespace {

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

std::uint32_t linear_group(std::uint64_t jobs, const DeviceTraits& traits) {
  const tuning::Numbers& t = numbers(traits);
  const std::uint32_t wanted =
      jobs >= t.linear_group_wide_from ? t.linear_group_wide : t.linear_group;
  return std::min({wanted, traits.max_invocations, traits.max_group_size[0]});
}

}  // namespace

void set_group_grid(Dispatch& d, std::uint64_t groups, const DeviceTraits& traits) {
  const std::uint64_t most = traits.max_group_count[0];
  const std::uint64_t lines = ceil_div(groups, most);
  // Even lines, so that few groups have nothing to do.
  d.groups = {static_cast<std::uint32_t>(ceil_div(groups, lines)),
              static_cast<std::uint32_t>(lines), 1};
}

void set_linear_grid(Dispatch& d, std::uint64_t jobs, const DeviceTraits& traits) {
  d.local_size = {linear_group(jobs, traits), 1, 1};
  set_group_grid(d, ceil_div(jobs, d.local_size[0]), traits);
}

bool set_sharing_grid(Dispatch& d, std::uint64_t jobs, const DeviceTraits& traits,
                      const std::function<std::uint64_t(std::uint32_t)>& shared_bytes) {
  std::uint32_t threads =
      std::min({numbers(traits).sharing_group, traits.max_invocations, traits.max_group_size[0]});
  while (threads > 1 && shared_bytes(threads) > traits.shared_bytes) threads /= 2;
  if (shared_bytes(threads) > traits.shared_bytes) return false;
  d.local_size = {threads, 1, 1};
  set_group_grid(d, ceil_div(jobs, d.local_size[0]), traits);
  return true;
}

void set_row_grid(Dispatch& d, std::uint64_t width, std::uint64_t rows,
                  const DeviceTraits& traits) {
  // Wide groups would stand idle behind the end of a short row.
  d.local_size = {
      linear_group(width >= numbers(traits).linear_group_wide ? width * rows : 0, traits), 1, 1};
  const std::uint64_t folds = ceil_div(rows, traits.max_group_count[1]);
  d.groups = {static_cast<std::uint32_t>(ceil_div(width, d.local_size[0])),
              static_cast<std::uint32_t>(ceil_div(rows, folds)), static_cast<std::uint32_t>(folds)};
}

}  // namespace spirkiln::lower
