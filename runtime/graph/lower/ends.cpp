// SPDX-License-Identifier: Apache-2.0
// The first and the last node of a graph together with what lies between them and the caller: the
// picture's bytes, and tight floats or bytes.
#include "graph/lower/common.hpp"
#include "graph/lower/tuning.hpp"
#include "graph/lower/window.hpp"

namespace spirkiln {

using lower::unsupported;

Result<Lowered> lower_stem(const LowerRequest& conv, const float scale[4], const float shift[4]) {
  const DeviceTraits& traits = conv.traits;
  if (conv.node.op != model::Op::kConv || conv.node.flags != 0 || conv.inputs.size() != 1 ||
      conv.inputs[0].c != 3) {
    return unsupported(conv, "no plain convolution of three channels");
  }
  if (!lower::numbers(traits).stem || !traits.may_use("stem"))
    return unsupported(conv, "not on this device");
  if (Status s = lower::check_node(conv, 1); !s) return s.error();
  if (Status s = lower::check_channels(conv); !s) return s.error();
  const auto window = lower::read_window(conv);
  if (!window) return window.error();
  const lower::Window& w = *window;
  const Dims& x = conv.inputs[0];
  const Dims& y = conv.output;
  if (w.dilation_h != 1 || w.dilation_w != 1 || w.kh > tuning::kStemMaxWindow ||
      w.kw > tuning::kStemMaxWindow || y.c4() > tuning::kStemMaxVectors) {
    return unsupported(conv, "a window or channels beyond what the kernel holds");
  }
  Dispatch d;
  d.kernel = "stem";
  d.buffers = {{BufferKind::kBytesIn},
               {BufferKind::kConst, 0},
               {BufferKind::kConst, 1},
               {BufferKind::kConst, 2},
               {BufferKind::kOutput, 0}};
  lower::set_epilogue_specs(d, conv.node);
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::int64_t>{"kh", w.kh}, {"kw", w.kw}, {"n4", y.c4()}}) {
    d.specs.push_back({name, static_cast<std::uint32_t>(value)});
  }
  lower::push_epilogue(d, conv.node.epilogue);
  for (int i = 0; i < 4; i++) d.push_f32(scale[i]);
  for (int i = 0; i < 4; i++) d.push_f32(shift[i]);
  for (const std::int64_t v :
       {static_cast<std::int64_t>(y.pixels()), std::int64_t{x.h}, std::int64_t{x.w},
        std::int64_t{y.h}, std::int64_t{y.w}, w.stride_h, w.stride_w, w.top, w.left}) {
    d.push_u32(static_cast<std::uint32_t>(v));
  }
  d.flops = 24.0 * static_cast<double>(y.vectors()) * static_cast<double>(w.kh * w.kw);
  const auto bytes = [&](std::uint32_t threads) {
    return tuning::stem_shared_bytes(threads, static_cast<std::uint32_t>(w.kh * w.kw), y.c4());
  };
  if (!lower::set_sharing_grid(d, y.pixels(), traits, bytes)) {
    return unsupported(conv, "its weights do not fit a workgroup of this device");
  }
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

namespace {

Result<Lowered> head(const LowerRequest& deconv, bool bytes) {
  const DeviceTraits& traits = deconv.traits;
  if (deconv.node.op != model::Op::kDeconv || deconv.node.flags != 0 || deconv.output.c != 1) {
    return unsupported(deconv, "no plain transposed convolution to one channel");
  }
  const std::string_view kernel = bytes ? "deconv_bytes" : "deconv_floats";
  if (!traits.may_use(kernel)) return unsupported(deconv, "not on this device");
  if (Status s = lower::check_deconv(deconv); !s) return s.error();
  const Dims& x = deconv.inputs[0];
  const auto kh = static_cast<std::uint32_t>(deconv.node.i[0]);
  const auto kw = static_cast<std::uint32_t>(deconv.node.i[1]);
  if (kh * kw > tuning::kHeadMaxTaps || x.c4() > tuning::kHeadMaxVectors) {
    return unsupported(deconv, "a window or channels beyond what the kernel holds");
  }
  Dispatch d;
  d.kernel = kernel;
  d.buffers = {{BufferKind::kInput, 0},
               {BufferKind::kConst, 0},
               {BufferKind::kConst, 1},
               {BufferKind::kConst, 2},
               {bytes ? BufferKind::kBytesOut : BufferKind::kFloatsOut}};
  lower::set_epilogue_specs(d, deconv.node);
  d.specs.push_back({"in4", x.c4()});
  d.specs.push_back({"kh", kh});
  d.specs.push_back({"kw", kw});
  lower::push_epilogue(d, deconv.node.epilogue);
  d.push_u32(static_cast<std::uint32_t>(x.pixels()));
  d.push_u32(x.w);
  d.flops = 8.0 * static_cast<double>(x.vectors()) * kh * kw;
  const auto shared = [&](std::uint32_t threads) {
    return tuning::head_shared_bytes(threads, kh * kw, x.c4());
  };
  if (!lower::set_sharing_grid(d, x.pixels(), traits, shared)) {
    return unsupported(deconv, "its weights do not fit a workgroup of this device");
  }
  if (bytes && (x.w * kw % 4 != 0 || d.local_size[0] * kw % 4 != 0)) {
    return unsupported(deconv, "a word of four bytes would belong to two lines or workgroups");
  }
  Lowered out;
  out.dispatches.push_back(std::move(d));
  return out;
}

}  // namespace

Result<Lowered> lower_head(const LowerRequest& deconv) { return head(deconv, false); }
Result<Lowered> lower_head_bytes(const LowerRequest& deconv) { return head(deconv, true); }

}  // namespace spirkiln
