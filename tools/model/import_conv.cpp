// SPDX-License-Identifier: Apache-2.0
// Convolutions, pools, batch normalisation, resizing: operators on N x C x H x W.
#include "importer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace spirkiln::packer {
namespace {

constexpr std::int64_t kMaxWindow = 4096;
constexpr std::int64_t kMaxChannels = 1 << 20;

}  // namespace

// kernel_h and kernel_w are set; reads strides, pads, dilations and auto_pad.
void Importer::read_window(const OnnxNode& node, const Dims& in, ConvParams* p) {
  const auto pair = [&](const char* name, std::int64_t smallest) {
    auto v = attr_ints(node, name);
    if (v.empty()) v = {1, 1};
    if (v.size() != 2) {
      fail(node, fmt::format("attribute {} = {} must have 2 numbers", name, v));
    }
    for (const std::int64_t x : v) {
      if (x < smallest || x > kMaxWindow) {
        fail(node, fmt::format("attribute {} = {} is out of range ({} to {})", name, v, smallest,
                               kMaxWindow));
      }
    }
    return v;
  };
  const auto strides = pair("strides", 1), dilations = pair("dilations", 1);
  p->stride_h = static_cast<int>(strides[0]);
  p->stride_w = static_cast<int>(strides[1]);
  p->dilation_h = static_cast<int>(dilations[0]);
  p->dilation_w = static_cast<int>(dilations[1]);

  const std::string auto_pad = attr_string(node, "auto_pad", "NOTSET");
  auto pads = attr_ints(node, "pads");
  if (auto_pad == "NOTSET" || auto_pad == "VALID") {
    if (pads.empty() || auto_pad == "VALID") pads = {0, 0, 0, 0};
    if (pads.size() != 4) fail(node, fmt::format("attribute pads = {} must have 4 numbers", pads));
    for (const std::int64_t x : pads) {
      if (x < 0 || x > kMaxWindow) {
        fail(node, fmt::format("attribute pads = {} is out of range (0 to {})", pads, kMaxWindow));
      }
    }
  } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    pads = {0, 0, 0, 0};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const Sym& size = in[axis == 0 ? kH : kW];
      const std::int64_t stride = strides[axis];
      const std::int64_t reach =
          (axis == 0 ? p->kernel_h - 1 : p->kernel_w - 1) * dilations[axis] + 1;
      // total = max((ceil(size / stride) - 1) * stride + reach - size, 0)
      auto& s = graph_.syms;
      const Sym steps = s.sub(s.ceil_div(size, stride), 1);
      const Sym wanted = s.sub(s.add(s.mul(steps, stride), reach), size);
      const auto total = s.max(wanted, 0).constant();
      if (!total) {
        fail(node, fmt::format("attribute auto_pad = '{}' with stride {} makes a padding that "
                               "depends on the input's size, which is not supported",
                               auto_pad, stride));
      }
      const std::int64_t small = *total / 2, large = *total - small;
      pads[axis] = auto_pad == "SAME_UPPER" ? small : large;
      pads[axis + 2] = auto_pad == "SAME_UPPER" ? large : small;
    }
  } else {
    fail(node, fmt::format("attribute auto_pad = '{}' is not supported", auto_pad));
  }
  p->pad_top = static_cast<int>(pads[0]);
  p->pad_left = static_cast<int>(pads[1]);
  p->pad_bottom = static_cast<int>(pads[2]);
  p->pad_right = static_cast<int>(pads[3]);
}

Dims Importer::window_dims(const Dims& in, const ConvParams& p, const Sym& channels) {
  auto& s = graph_.syms;
  const auto out = [&](const Sym& size, int pads, int kernel, int dilation, int stride) {
    const std::int64_t shrink = std::int64_t{pads} - std::int64_t{dilation} * (kernel - 1) - 1;
    return s.add(s.floor_div(s.add(size, shrink), stride), 1);
  };
  return {in[kN], out(in[kH], p.pad_top + p.pad_bottom, p.kernel_h, p.dilation_h, p.stride_h),
          out(in[kW], p.pad_left + p.pad_right, p.kernel_w, p.dilation_w, p.stride_w), channels};
}

Value Importer::conv(const OnnxNode& node) {
  const View& x = nchw(node, 0);
  const Literal& w = float_literal(node, 1);
  const Dims in = dims_of(x);
  if (w.dims.size() != 4) {
    fail(node, fmt::format("its weights have rank {}, only 4 (two spatial axes) is supported",
                           w.dims.size()));
  }
  const std::int64_t cin = *in[kC].constant(), cout = w.dims[0], group = attr_int(node, "group", 1);
  const auto kernel = attr_ints(node, "kernel_shape");
  if (!kernel.empty() && kernel != std::vector<std::int64_t>{w.dims[2], w.dims[3]}) {
    fail(node, fmt::format("attribute kernel_shape = {}, but its weights have {} x {}", kernel,
                           w.dims[2], w.dims[3]));
  }
  const bool depthwise = group == cin && group == cout && group > 1 && w.dims[1] == 1;
  if (!depthwise && group != 1) {
    fail(node, fmt::format("attribute group = {} with {} to {} channels is not supported (1, or "
                           "one filter a channel)",
                           group, cin, cout));
  }
  if (!depthwise && w.dims[1] != cin) {
    fail(node, fmt::format("its weights are for {} channels, its input has {}", w.dims[1], cin));
  }
  if (cout < 1 || cout > kMaxChannels || w.dims[2] < 1 || w.dims[3] < 1 || w.dims[2] > kMaxWindow ||
      w.dims[3] > kMaxWindow) {
    fail(node, fmt::format("weights of shape {} are not supported", w.dims));
  }
  Node n = new_node(node, depthwise ? Kind::kDepthwise : Kind::kConv, {x.tensor});
  n.conv.kernel_h = static_cast<int>(w.dims[2]);
  n.conv.kernel_w = static_cast<int>(w.dims[3]);
  read_window(node, in, &n.conv);
  n.channels_in = static_cast<int>(cin);
  n.channels_out = static_cast<int>(cout);
  n.weights = {node.inputs[1], w.floats};
  n.scale.assign(static_cast<std::size_t>(cout), 1);
  n.bias.assign(static_cast<std::size_t>(cout), 0);
  if (has_input(node, 2)) {
    const Literal& b = float_literal(node, 2);
    if (b.dims != std::vector<std::int64_t>{cout}) {
      fail(node, fmt::format("its bias has shape {}, [{}] is expected", b.dims, cout));
    }
    n.bias.assign(b.floats.begin(), b.floats.end());
  }
  const Dims out = window_dims(in, n.conv, cout);
  const int tensor = finish(node, std::move(n), out);
  return whole_view(graph_.syms, tensor, out, {kN, kC, kH, kW});
}

Value Importer::conv_transpose(const OnnxNode& node) {
  const View& x = nchw(node, 0);
  const Literal& w = float_literal(node, 1);
  const Dims in = dims_of(x);
  if (w.dims.size() != 4) fail(node, "only two spatial axes are supported");
  expect_int(node, "group", 1);
  const std::int64_t cin = *in[kC].constant(), cout = w.dims[1];
  if (w.dims[0] != cin) {
    fail(node, fmt::format("its weights are for {} channels, its input has {}", w.dims[0], cin));
  }
  if (attribute(node, "output_shape") != nullptr) {
    fail(node, "attribute output_shape is not supported");
  }
  for (const std::int64_t v : attr_ints(node, "output_padding")) {
    if (v != 0) fail(node, fmt::format("attribute output_padding = {} is not supported", v));
  }
  const auto kernel = attr_ints(node, "kernel_shape");
  if (!kernel.empty() && kernel != std::vector<std::int64_t>{w.dims[2], w.dims[3]}) {
    fail(node, fmt::format("attribute kernel_shape = {}, but its weights have {} x {}", kernel,
                           w.dims[2], w.dims[3]));
  }
  if (cout < 1 || cout > kMaxChannels || w.dims[2] < 1 || w.dims[3] < 1 || w.dims[2] > kMaxWindow ||
      w.dims[3] > kMaxWindow) {
    fail(node, fmt::format("weights of shape {} are not supported", w.dims));
  }
  Node n = new_node(node, Kind::kDeconv, {x.tensor});
  ConvParams& p = n.conv;
  p.kernel_h = static_cast<int>(w.dims[2]);
  p.kernel_w = static_cast<int>(w.dims[3]);
  const std::string auto_pad = attr_string(node, "auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") {
    fail(node, fmt::format("attribute auto_pad = '{}' is not supported", auto_pad));
  }
  read_window(node, in, &p);
  if (p.stride_h != p.kernel_h || p.stride_w != p.kernel_w) {
    fail(node, fmt::format("attribute strides = [{}, {}] is not supported (only the kernel's size, "
                           "[{}, {}], is)",
                           p.stride_h, p.stride_w, p.kernel_h, p.kernel_w));
  }
  if (p.pad_top != 0 || p.pad_left != 0 || p.pad_bottom != 0 || p.pad_right != 0) {
    fail(node, fmt::format("attribute pads = [{}, {}, {}, {}] is not supported (only zeros are)",
                           p.pad_top, p.pad_left, p.pad_bottom, p.pad_right));
  }
  if (p.dilation_h != 1 || p.dilation_w != 1) {
    fail(node, fmt::format("attribute dilations = [{}, {}] is not supported (only ones are)",
                           p.dilation_h, p.dilation_w));
  }
  n.channels_in = static_cast<int>(cin);
  n.channels_out = static_cast<int>(cout);
  n.weights = {node.inputs[1], w.floats};
  n.scale.assign(static_cast<std::size_t>(cout), 1);
  n.bias.assign(static_cast<std::size_t>(cout), 0);
  if (has_input(node, 2)) {
    const Literal& b = float_literal(node, 2);
    if (b.dims != std::vector<std::int64_t>{cout}) {
      fail(node, fmt::format("its bias has shape {}, [{}] is expected", b.dims, cout));
    }
    n.bias.assign(b.floats.begin(), b.floats.end());
  }
  auto& s = graph_.syms;
  const Dims out{in[kN], s.mul(in[kH], p.kernel_h), s.mul(in[kW], p.kernel_w), cout};
  const int tensor = finish(node, std::move(n), out);
  return whole_view(s, tensor, out, {kN, kC, kH, kW});
}

Value Importer::pool(const OnnxNode& node) {
  const View& x = nchw(node, 0);
  const Dims in = dims_of(x);
  const bool average = node.op == "AveragePool";
  Node n = new_node(node, average ? Kind::kAvgPool : Kind::kMaxPool, {x.tensor});
  const auto kernel = attr_ints(node, "kernel_shape");
  if (kernel.size() != 2 || kernel[0] < 1 || kernel[1] < 1 || kernel[0] > kMaxWindow ||
      kernel[1] > kMaxWindow) {
    fail(node, fmt::format("attribute kernel_shape = {} must be 2 numbers from 1 to {}", kernel,
                           kMaxWindow));
  }
  n.conv.kernel_h = static_cast<int>(kernel[0]);
  n.conv.kernel_w = static_cast<int>(kernel[1]);
  expect_int(node, "ceil_mode", 0);
  if (average) {
    n.count_include_pad = attr_int(node, "count_include_pad", 0) != 0;
  } else {
    expect_int(node, "storage_order", 0);
  }
  read_window(node, in, &n.conv);
  const ConvParams& p = n.conv;
  if (p.dilation_h != 1 || p.dilation_w != 1) {
    fail(node, fmt::format("attribute dilations = [{}, {}] is not supported (only ones are)",
                           p.dilation_h, p.dilation_w));
  }
  if (std::max(p.pad_top, p.pad_bottom) >= p.kernel_h ||
      std::max(p.pad_left, p.pad_right) >= p.kernel_w) {
    fail(node, fmt::format("attribute pads = [{}, {}, {}, {}] must be smaller than the kernel",
                           p.pad_top, p.pad_left, p.pad_bottom, p.pad_right));
  }
  const Dims out = window_dims(in, p, in[kC]);
  const int tensor = finish(node, std::move(n), out);
  return whole_view(graph_.syms, tensor, out, {kN, kC, kH, kW});
}

Value Importer::global_average_pool(const OnnxNode& node) {
  const View& x = nchw(node, 0);
  const Dims in = dims_of(x);
  const Dims out{in[kN], 1, 1, in[kC]};
  const int tensor = finish(node, new_node(node, Kind::kGlobalMean, {x.tensor}), out);
  return whole_view(graph_.syms, tensor, out, {kN, kC, kH, kW});
}

Value Importer::batch_normalization(const OnnxNode& node) {
  const View x = elementwise(node, 0);
  if (x.rank() < 2 || !axis_is_all_channels(x, 1)) {
    fail(node, "axis 1 of its input must be the channels as they are stored");
  }
  expect_int(node, "training_mode", 0);
  expect_int(node, "spatial", 1);
  attribute(node, "momentum");  // of training only
  const double epsilon = attr_float(node, "epsilon", 1e-5);
  const auto channels = static_cast<std::size_t>(*dims_of(x)[kC].constant());
  for (std::size_t i = 1; i < 5; ++i) {
    if (float_literal(node, i).floats.size() != channels) {
      fail(node, fmt::format("input {} ('{}') has {} values for {} channels", i, node.inputs[i],
                             float_literal(node, i).floats.size(), channels));
    }
  }
  const auto &gamma = float_literal(node, 1).floats, &beta = float_literal(node, 2).floats;
  const auto &mean = float_literal(node, 3).floats, &variance = float_literal(node, 4).floats;
  std::vector<double> scale(channels), bias(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const double v = static_cast<double>(variance[c]) + epsilon;
    if (!(v > 0)) {
      fail(node, fmt::format("the variance {} of channel {} has no root", variance[c], c));
    }
    scale[c] = gamma[c] / std::sqrt(v);
    bias[c] = beta[c] - mean[c] * scale[c];
  }
  return affine(node, x, std::move(scale), std::move(bias));
}

Value Importer::resize(const OnnxNode& node) {
  const View& x = nchw(node, 0);
  const Dims in = dims_of(x);
  const std::string mode = attr_string(node, "mode", "nearest");
  if (mode != "nearest") {
    fail(node, fmt::format("attribute mode = '{}' is not supported (only 'nearest' is)", mode));
  }
  // Attributes of the other modes, which have no effect here.
  for (const char* name : {"cubic_coeff_a", "exclude_outside", "extrapolation_value"}) {
    attribute(node, name);
  }
  const bool first_edition = onnx_.opset < 11;  // floor and asymmetric, without attributes
  if (!first_edition) {
    const std::string where = attr_string(node, "coordinate_transformation_mode", "half_pixel");
    const std::string rounding = attr_string(node, "nearest_mode", "round_prefer_floor");
    if (where != "asymmetric") {
      fail(node, fmt::format("attribute coordinate_transformation_mode = '{}' is not supported "
                             "(only 'asymmetric' is)",
                             where));
    }
    if (rounding != "floor") {
      fail(node, fmt::format("attribute nearest_mode = '{}' is not supported (only 'floor' is)",
                             rounding));
    }
  }
  const std::size_t scales_at = first_edition ? 1 : 2;
  std::int64_t factors[4] = {0, 0, 0, 0};
  const bool has_scales = has_input(node, scales_at) && !(is_literal(input(node, scales_at)) &&
                                                          literal(node, scales_at).elements() == 0);
  if (has_scales) {
    const Literal scales = literal(node, scales_at);
    if (scales.type != ElementType::kFloat || scales.floats.size() != 4) {
      fail(node, fmt::format("its scales must be 4 floats, they are {}", scales.elements()));
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const float f = scales.floats[i];
      if (!(f >= 1 && f <= 64 && f == std::floor(f))) {
        fail(node, fmt::format("its scale {} of axis {} is not supported (whole numbers from 1 to "
                               "64 are)",
                               f, i));
      }
      factors[i] = static_cast<std::int64_t>(f);
    }
  } else {
    if (first_edition || !has_input(node, 3)) fail(node, "it has neither scales nor sizes");
    const ShapeValue sizes = shape_value(node, 3);
    if (sizes.values.size() != 4) fail(node, "its sizes must be 4 numbers");
    const int dims[4] = {kN, kC, kH, kW};
    for (std::size_t i = 0; i < 4; ++i) {
      const Sym& from = in[static_cast<std::size_t>(dims[i])];
      const auto q = graph_.syms.quotient(sizes.values[i].num, from);
      const auto factor = q ? q->constant() : std::nullopt;
      if (!factor || *factor < 1 || *factor > 64 || sizes.values[i].den != 1) {
        fail(node, fmt::format("its size {} of axis {} is no fixed whole multiple of {}",
                               graph_.syms.to_string(sizes.values[i].num), i,
                               graph_.syms.to_string(from)));
      }
      factors[i] = *factor;
    }
  }
  if (factors[0] != 1 || factors[1] != 1) {
    fail(node, fmt::format("it scales axis {}; only height and width may be scaled",
                           factors[0] != 1 ? 0 : 1));
  }
  Node n = new_node(node, Kind::kResize, {x.tensor});
  n.factor_h = static_cast<int>(factors[2]);
  n.factor_w = static_cast<int>(factors[3]);
  auto& s = graph_.syms;
  const Dims out{in[kN], s.mul(in[kH], factors[2]), s.mul(in[kW], factors[3]), in[kC]};
  const int tensor = finish(node, std::move(n), out);
  return whole_view(s, tensor, out, {kN, kC, kH, kW});
}

}  // namespace spirkiln::packer
