// SPDX-License-Identifier: Apache-2.0
// Weights, scales and biases in the pack's form: padded to whole vectors, weights normalised.
#pragma once

#include "ir.hpp"

#include <spirkiln/model_format.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace spirkiln::packer {

// A block of weights as it will lie in memory, before it becomes half pairs.
struct WeightBlock {
  std::vector<double> values;        // padding lanes are 0
  std::vector<double> inverse;       // per output channel: the power of two taken out
};

constexpr int cpad(int c) { return (c + 3) / 4 * 4; }

// `count` positions of `lanes` output channels each are read through `at(position, channel)`; every
// channel is divided by a power of two so that its largest magnitude lies in [0.5, 1).
WeightBlock normalise_weights(std::size_t positions, int channels,
                              const std::function<double(std::size_t, int)>& at);

// Layouts of model_format.hpp. `positions` run over everything before the last index.
WeightBlock conv_weights(const Node& n);
WeightBlock depthwise_weights(const Node& n);
WeightBlock deconv_weights(const Node& n);
WeightBlock fc_weights(const std::vector<float>& values, int cin, int cout);

struct HalfPlanes {
  std::vector<std::uint16_t> hi, lo;  // value = hi + lo * 2^-12
};
HalfPlanes to_half_pair(const std::vector<double>& values);

// One float for each of cpad(channels) lanes; a single value is repeated. Throws kNotFinite where a
// value does not fit.
std::vector<float> to_lanes(const Node& n, const std::vector<double>& values, int channels,
                            const char* what);

}  // namespace spirkiln::packer
