// SPDX-License-Identifier: Apache-2.0
// No exception leaves the library: what OpenCV and the standard library throw becomes an Error
// here.
#pragma once

#include <new>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <string>

#include "spirkiln/result.hpp"

namespace spirkiln::ocr {

template <typename Function>
auto guarded(Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const cv::Exception& e) {
    if (e.code == cv::Error::StsNoMem) {
      return Error{ErrorCode::kOutOfMemory, "the host has no memory left for the picture"};
    }
    return Error{ErrorCode::kUnsupported, "OpenCV: " + e.err};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, "the host has no memory left for the picture"};
  } catch (const std::length_error&) {
    return Error{ErrorCode::kOutOfMemory, "the host has no memory left for the picture"};
  } catch (const std::exception& e) {
    return Error{ErrorCode::kUnsupported, std::string("unexpected: ") + e.what()};
  }
}

}  // namespace spirkiln::ocr
