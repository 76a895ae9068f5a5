// SPDX-License-Identifier: Apache-2.0
// Pipelines of the graphs that follow, made while detection makes its own.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "spirkiln/ocr.hpp"

namespace spirkiln::ocr {

// Threads that make what the first runs of orientation and recognition need, shapes that most pages
// have: where no cache has the pipelines, a driver takes about a second for those of each graph.
// What goes wrong in them is left to the run that needs it. Ends with the threads.
class Preparation {
 public:
  Preparation() = default;
  Preparation(const std::shared_ptr<Net>& orient, const std::shared_ptr<Net>& recognise);

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace spirkiln::ocr
