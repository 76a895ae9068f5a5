// SPDX-License-Identifier: Apache-2.0
#include "const_writer.hpp"

#include "half.hpp"
#include "pack_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace spirkiln::packer {

WeightBlock normalise_weights(std::size_t positions, int channels,
                              const std::function<double(std::size_t, int)>& at) {
  const auto lanes = static_cast<std::size_t>(cpad(channels));
  WeightBlock block;
  block.values.assign(positions * lanes, 0);
  block.inverse.assign(static_cast<std::size_t>(channels), 1);
  for (int c = 0; c < channels; ++c) {
    double largest = 0;
    for (std::size_t p = 0; p < positions; ++p) largest = std::max(largest, std::fabs(at(p, c)));
    int exponent = 0;
    if (largest > 0) std::frexp(largest, &exponent);
    block.inverse[static_cast<std::size_t>(c)] = std::ldexp(1.0, exponent);
    for (std::size_t p = 0; p < positions; ++p) {
      block.values[p * lanes + static_cast<std::size_t>(c)] = std::ldexp(at(p, c), -exponent);
    }
  }
  return block;
}

WeightBlock conv_weights(const Node& n) {
  const auto taps =
      static_cast<std::size_t>(n.conv.kernel_h) * static_cast<std::size_t>(n.conv.kernel_w);
  const auto cin = static_cast<std::size_t>(n.channels_in);
  const auto padded = static_cast<std::size_t>(cpad(n.channels_in));
  return normalise_weights(taps * padded, n.channels_out, [&](std::size_t p, int o) -> double {
    const std::size_t tap = p / padded, i = p % padded;
    if (i >= cin) return 0;
    return n.weights.values[(static_cast<std::size_t>(o) * cin + i) * taps + tap];
  });
}

WeightBlock depthwise_weights(const Node& n) {
  const auto taps =
      static_cast<std::size_t>(n.conv.kernel_h) * static_cast<std::size_t>(n.conv.kernel_w);
  return normalise_weights(taps, n.channels_out, [&](std::size_t tap, int c) -> double {
    return n.weights.values[static_cast<std::size_t>(c) * taps + tap];
  });
}

WeightBlock deconv_weights(const Node& n) {
  const auto taps =
      static_cast<std::size_t>(n.conv.kernel_h) * static_cast<std::size_t>(n.conv.kernel_w);
  const auto cin = static_cast<std::size_t>(n.channels_in);
  const auto cout = static_cast<std::size_t>(n.channels_out);
  const auto padded = static_cast<std::size_t>(cpad(n.channels_in));
  return normalise_weights(padded * taps, n.channels_out, [&](std::size_t p, int o) -> double {
    const std::size_t i = p / taps, tap = p % taps;
    if (i >= cin) return 0;
    return n.weights.values[(i * cout + static_cast<std::size_t>(o)) * taps + tap];
  });
}

WeightBlock fc_weights(const std::vector<float>& values, int cin, int cout) {
  const auto in = static_cast<std::size_t>(cin);
  return normalise_weights(static_cast<std::size_t>(cpad(cin)), cout,
                           [&](std::size_t i, int o) -> double {
                             return i < in ? values[static_cast<std::size_t>(o) * in + i] : 0.0;
                           });
}

HalfPlanes to_half_pair(const std::vector<double>& values) {
  HalfPlanes planes;
  planes.hi.reserve(values.size());
  planes.lo.reserve(values.size());
  for (const double v : values) {
    const std::uint16_t hi = half_from_double(v);
    planes.hi.push_back(hi);
    planes.lo.push_back(half_from_double((v - double_from_half(hi)) * 4096));
  }
  return planes;
}

std::vector<float> to_lanes(const Node& n, const std::vector<double>& values, int channels,
                            const char* what) {
  std::vector<float> lanes(static_cast<std::size_t>(cpad(channels)), 0);
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const auto v = static_cast<float>(values[values.size() == 1 ? 0 : c]);
    if (!std::isfinite(v)) {
      throw PackError(ErrorCode::kNotFinite,
                      fmt::format("node '{}' ({}): its {} of channel {} becomes {}", n.name,
                                  n.op_type, what, c, v));
    }
    lanes[c] = v;
  }
  return lanes;
}

}  // namespace spirkiln::packer
