// SPDX-License-Identifier: Apache-2.0
// Pictures as graphs take them: four bytes a pixel, the last one saying whether the pixel counts.
#pragma once

#include <cstdint>
#include <opencv2/core.hpp>
#include <vector>

#include "spirkiln/spirkiln.hpp"

namespace spirkiln::ocr {

class PictureBatch {
 public:
  // All pixels are padding.
  PictureBatch(std::uint32_t n, std::uint32_t h, std::uint32_t w)
      : n_(n), h_(h), w_(w), bytes_(std::size_t{n} * h * w * 4) {}

  // Puts B G R pixels at the top left of picture `index`; what does not fit is left out.
  void put(std::uint32_t index, const cv::Mat& bgr);

  Pictures pictures() const { return {n_, h_, w_, bytes_}; }

 private:
  std::uint32_t n_, h_, w_;
  std::vector<std::uint8_t> bytes_;
};

// The colour around a picture's content: the median of its border pixels in each channel.
cv::Scalar ground_of(const cv::Mat& bgr);

}  // namespace spirkiln::ocr
