// SPDX-License-Identifier: Apache-2.0
// From boxes to lines.
#pragma once

#include <opencv2/core.hpp>
#include <vector>

#include "ocr/detect.hpp"
#include "spirkiln/ocr.hpp"

namespace spirkiln::ocr {

// Crops, turns and reads the boxes; lines that say nothing are left out. `timings` is added to.
Result<std::vector<OcrLine>> read_boxes(const OcrNets& nets, const Dictionary& dictionary,
                                        const cv::Mat& picture, const std::vector<Box>& boxes,
                                        const OcrOptions& options, OcrTimings& timings);

// Finds and reads. A picture that may be one line (a strip, a word) is also read whole, and the
// better answer taken: detection cuts tight crops too tightly, or finds nothing in them.
Result<std::vector<OcrLine>> read_picture(const OcrNets& nets, const Dictionary& dictionary,
                                          const cv::Mat& picture, const OcrOptions& options,
                                          OcrTimings& timings);

Quad whole_picture(const cv::Mat& picture);

}  // namespace spirkiln::ocr
