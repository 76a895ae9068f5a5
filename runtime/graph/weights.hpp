// SPDX-License-Identifier: Apache-2.0
// A model's constants as one block of device memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "graph/model.hpp"

namespace spirkiln {

struct WeightPlace {
  std::uint64_t offset = 0, bytes = 0;  // a multiple of 16
};

struct WeightLayout {
  bool fp32 = false;  // kHalfPair as floats instead of halves
  std::vector<WeightPlace> places;  // of each constant
  std::uint64_t bytes = 0;
};

WeightLayout lay_out_weights(const Model::State& model, bool fp32, std::uint64_t alignment);

// `out` has layout.bytes. A kHalfPair becomes its first plane as it is (the same bytes serve packed
// and plain fp16 storage), or hi + lo * 2^-12 in fp32.
void fill_weights(const Model::State& model, const WeightLayout& layout, std::span<std::byte> out);

// Whether 16-bit subnormals matter in the weights: what flushing takes from a weight, 2^-14 at
// most, is less than rounding takes from its channel's largest where that is 2^-2 or more. The
// packer scales it to 2^-1 or more, with the inverse in fp32; a pack of somebody else's need not.
bool needs_subnormals(const Model::State& model);

}  // namespace spirkiln
