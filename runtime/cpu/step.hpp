// SPDX-License-Identifier: Apache-2.0
// What a plan is made of. A step is one node of the graph, or several that were fused, for one
// picture of one size; everything that depends on the size was decided when it was made.
//
// Tensors are tight fp32, H x W x C with channels innermost (oneDNN's nhwc): the layout in which
// oneDNN's kernels of today are as fast as in blocked ones (README.md), and in which every loop of
// ours is plain.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "graph/dispatch.hpp"
#include "graph/model.hpp"

namespace spirkiln::cpu {

struct StepArgs {
  std::array<const float*, model::kMaxNodeInputs> in{};  // as the node lists its inputs
  float* out = nullptr;
  std::byte* scratch = nullptr;  // aligned to 64 bytes
};

struct Step {
  // May throw what oneDNN throws (dnnl::error).
  std::function<void(const StepArgs&)> run;
  std::size_t scratch_bytes = 0;
  // The output may lie where the first input does, where that dies here.
  bool in_place = false;
};

// The numbers of a constant, one plane or the sum of two, padding lanes included; or `count` of
// them.
std::vector<float> floats_of(const Model::State& model, std::uint32_t constant);
void floats_of(const Model::State& model, std::uint32_t constant, std::size_t first,
               std::size_t count, float* out);

inline std::size_t cpad(std::size_t c) { return (c + 3) / 4 * 4; }
inline std::size_t values_of(const Dims& d) { return std::size_t{d.h} * d.w * d.c; }

}  // namespace spirkiln::cpu
