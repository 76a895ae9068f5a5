// SPDX-License-Identifier: Apache-2.0
// Nets that run on ONNX Runtime, in a process of serve.mjs.
#pragma once

#include <memory>
#include <string>

#include "spirkiln/ocr.hpp"

namespace spirkiln::test {

struct OrtNets {
  OcrNets nets;
  std::string skipped;  // why there are none: no node, no package, no models
};

// `serve` is serve.mjs (its node_modules beside it), `models` the folder of the ONNX files.
OrtNets start_ort(const std::string& serve, const std::string& models, int threads = 0);

}  // namespace spirkiln::test
