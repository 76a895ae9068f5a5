// SPDX-License-Identifier: Apache-2.0
// In place of decode_opencv.cpp where OpenCV's imgcodecs is left out: what it would read is
// refused.
#include "ocr/decode.hpp"

namespace spirkiln::ocr {

Result<Picture> decode_with_opencv(Bytes, const std::string& name, const PictureHeader& header) {
  return Error{ErrorCode::kUnsupported, name + ": this build reads no " +
                                            std::string(header.format) +
                                            " files, only JPEG and PNM; convert it to one of them"};
}

}  // namespace spirkiln::ocr
