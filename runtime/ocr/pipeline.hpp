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

}  // namespace spirkiln::ocr
