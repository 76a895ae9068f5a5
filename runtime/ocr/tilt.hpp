// SPDX-License-Identifier: Apache-2.0
// Pages that lie askew: the detection graph was trained on level lines, and those that are not fall
// apart between words. A page whose lines agree on a tilt is looked at again after turning it
// level.
#pragma once

#include <opencv2/core.hpp>
#include <vector>

#include "ocr/detect.hpp"

namespace spirkiln::ocr {

// Degrees clockwise, [-45, 45], that the boxes with a direction agree on, of lines to the right and
// of lines downwards alike; 0 where they are few, differ, or are level enough as they are.
float common_tilt(const std::vector<Box>& boxes);

struct Levelled {
  cv::Mat picture;  // all of it, with ground in the corners
  cv::Matx23f back;  // from its pixels to those of the picture that was turned
};
Levelled levelled(const cv::Mat& picture, float tilt);

Quad moved(const Quad& quad, const cv::Matx23f& by);

// Sum of the boxes' longer sides.
float length_of(const std::vector<Box>& boxes);

}  // namespace spirkiln::ocr
