// SPDX-License-Identifier: Apache-2.0
// How image variants hold a tensor: one 2D image, its vectors one behind the other in rows of a
// fixed length, so that kernels keep the index arithmetic that they have for buffers.
#pragma once

#include <cstdint>
#include <functional>

#include "spirkiln/result.hpp"

namespace spirkiln {

// Texels of a row: 2^TENSOR_ROW_BITS of glsl/kernels/tensor.glsl. Vulkan guarantees images of 4096
// x 4096 texels, which are 8 million vectors then.
inline constexpr std::uint32_t kTensorRow = 2048;

struct TensorImage {
  std::uint32_t width = 0, height = 0;
  std::uint32_t texel_bytes = 0;  // 8: rgba16f, 16: rgba32f
  bool copied = false;            // copies read or write it, beside kernels
  bool operator==(const TensorImage&) const = default;
};

// Of 1 to 2^31 vectors. A tensor of less than a row is one of its own length.
inline TensorImage tensor_image(std::uint64_t vectors, std::uint32_t texel_bytes) {
  const bool one_row = vectors < kTensorRow;
  return {one_row ? static_cast<std::uint32_t>(vectors) : kTensorRow,
          one_row ? 1 : static_cast<std::uint32_t>((vectors + kTensorRow - 1) / kTensorRow),
          texel_bytes, false};
}

// Memory that a device wants for an image. Planning asks this and nothing else of Vulkan.
struct ImageNeed {
  std::uint64_t bytes = 0, alignment = 1;
};
using ImageNeeds = std::function<Result<ImageNeed>(const TensorImage&)>;

}  // namespace spirkiln
