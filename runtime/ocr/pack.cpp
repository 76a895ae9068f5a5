// SPDX-License-Identifier: Apache-2.0
#include "ocr/pack.hpp"

#include <algorithm>
#include <array>

namespace spirkiln::ocr {

void PictureBatch::put(std::uint32_t index, const cv::Mat& bgr) {
  const int rows = std::min<int>(bgr.rows, static_cast<int>(h_));
  const int cols = std::min<int>(bgr.cols, static_cast<int>(w_));
  for (int y = 0; y < rows; ++y) {
    const cv::Vec3b* from = bgr.ptr<cv::Vec3b>(y);
    std::uint8_t* to = bytes_.data() + (std::size_t{index} * h_ + y) * w_ * 4;
    for (int x = 0; x < cols; ++x, to += 4) {
      to[0] = from[x][0];
      to[1] = from[x][1];
      to[2] = from[x][2];
      to[3] = 1;
    }
  }
}

cv::Scalar ground_of(const cv::Mat& bgr) {
  std::array<std::array<std::uint32_t, 256>, 3> count{};
  const auto add = [&](int y, int x) {
    const cv::Vec3b& p = bgr.at<cv::Vec3b>(y, x);
    for (int c = 0; c < 3; ++c) ++count[c][p[c]];
  };
  for (int x = 0; x < bgr.cols; ++x) add(0, x), add(bgr.rows - 1, x);
  for (int y = 0; y < bgr.rows; ++y) add(y, 0), add(y, bgr.cols - 1);
  const std::uint32_t half = static_cast<std::uint32_t>(bgr.cols + bgr.rows);
  cv::Scalar ground;
  for (int c = 0; c < 3; ++c) {
    std::uint32_t sum = 0;
    int v = 0;
    while (v < 255 && (sum += count[c][v]) < half) ++v;
    ground[c] = v;
  }
  return ground;
}

}  // namespace spirkiln::ocr
