// SPDX-License-Identifier: Apache-2.0
// Where text is: the picture made ready for the detection graph, and boxes out of its map.
#pragma once

#include <opencv2/core.hpp>
#include <vector>

#include "ocr/geometry.hpp"
#include "spirkiln/ocr.hpp"

namespace spirkiln::ocr {

// How a picture enters the graph: scaled to `scaled`, with `pad` pixels of ground on each side, in
// an input whose sides are multiples of 32.
struct DetectPlan {
  cv::Size scaled;  // what the picture itself becomes
  cv::Point pad;    // where its top left lies in the input
  cv::Size input;
  float zoom = 1;   // scaled / picture (both sides the same, to a pixel)
};

// For a picture of this size, at `zoom` as closely as the limits of the options allow.
DetectPlan plan_detection(cv::Size picture, float zoom, const OcrOptions& options);

// The zoom of the first look.
float first_zoom(cv::Size picture, const OcrOptions& options);

struct Box {
  Quad quad;         // pixels of the picture, ordered_corners()
  float score = 0;
};

// Boxes of a map (the plan's input size) of probabilities: floats, or bytes of 255 times as much.
// Coordinates are the picture's.
std::vector<Box> boxes_of_map(const cv::Mat& map, const DetectPlan& plan, cv::Size picture,
                              const OcrOptions& options);

struct Detection {
  std::vector<Box> boxes;
  std::uint32_t runs = 0;
};

// All of it, with a second look where the options want one.
Result<Detection> detect(Net& net, const cv::Mat& picture, const OcrOptions& options);

}  // namespace spirkiln::ocr
