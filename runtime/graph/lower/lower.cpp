// SPDX-License-Identifier: Apache-2.0
// The entries of dispatch.hpp.
#include "graph/lower/common.hpp"

namespace spirkiln {

Result<Lowered> lower_node(const LowerRequest& request) {
  switch (request.node.op) {
    case model::Op::kConv:
      return lower::conv(request);
    case model::Op::kDepthwise:
      return lower::depthwise(request);
    case model::Op::kDeconv:
      return lower::deconv(request);
    case model::Op::kMaxPool:
    case model::Op::kAvgPool:
      return lower::pool(request);
    case model::Op::kGlobalMean:
      return lower::global_mean(request);
    case model::Op::kSqueezeExcite:
      return lower::squeeze_excite(request);
    case model::Op::kBinary:
      return lower::binary(request);
    case model::Op::kAffine:
      return lower::affine(request);
    case model::Op::kResize:
      return lower::resize(request);
    case model::Op::kConcat:
      return lower::concat(request);
    case model::Op::kLayerNorm:
      return lower::layer_norm(request);
    case model::Op::kAttention:
      return lower::attention(request);
    case model::Op::kSoftmax:
      return lower::softmax(request);
  }
  return lower::unsupported(
      request, "operator number " + std::to_string(static_cast<std::uint32_t>(request.node.op)));
}

Result<Lowered> lower_gate(const LowerRequest& mean, const LowerRequest& gate) {
  return lower::gate_of_mean(mean, gate);
}

Result<Lowered> lower_scale(const LowerRequest& mean, const LowerRequest& gate,
                            const LowerRequest& product) {
  return lower::scaled_by_gate(mean, gate, product);
}

Result<Lowered> lower_input(const Dims& input, const float scale[4], const float shift[4],
                            const DeviceTraits& traits) {
  if (input.c != 3 || input.vectors() == 0 || input.vectors() >= lower::kMaxVectors) {
    return Error{ErrorCode::kUnsupported, "pictures of " + lower::to_string(input) +
                                              ": expected three channels and 1 to 2^31 pixels"};
  }
  Dispatch d;
  d.kernel = "normalize";
  d.buffers = {{BufferKind::kBytesIn}, {BufferKind::kOutput, 0}};
  for (int i = 0; i < 4; i++) d.push_f32(scale[i]);
  for (int i = 0; i < 4; i++) d.push_f32(shift[i]);
  d.push_u32(static_cast<std::uint32_t>(input.vectors()));
  lower::set_linear_grid(d, input.vectors(), traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

namespace {

Result<Lowered> unpacked(const Dims& output, const DeviceTraits& traits, bool bytes) {
  if (output.vectors() == 0 || output.vectors() >= lower::kMaxVectors / 4) {
    return Error{ErrorCode::kUnsupported,
                 "an output of " + lower::to_string(output) + ": expected 1 to 2^31 values"};
  }
  Dispatch d;
  d.kernel = bytes ? "unpack_bytes" : "unpack";
  d.buffers = {{BufferKind::kInput, 0}, {bytes ? BufferKind::kBytesOut : BufferKind::kFloatsOut}};
  const std::uint64_t values = output.pixels() * output.c;  // fewer than four a vector
  d.push_u32(static_cast<std::uint32_t>(values));
  d.push_u32(output.c);
  lower::set_linear_grid(d, bytes ? (values + 3) / 4 : values, traits);
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

}  // namespace

Result<Lowered> lower_output(const Dims& output, const DeviceTraits& traits) {
  return unpacked(output, traits, false);
}

Result<Lowered> lower_output_bytes(const Dims& output, const DeviceTraits& traits) {
  return unpacked(output, traits, true);
}

}  // namespace spirkiln
