// SPDX-License-Identifier: Apache-2.0
#include "ocr/prepare.hpp"

#include <system_error>

#include "ocr/pack.hpp"
#include "ocr/recognise.hpp"

namespace spirkiln::ocr {

Preparation::Preparation(const std::shared_ptr<Net>& orient,
                         const std::shared_ptr<Net>& recognise) {
  const auto start = [&](const std::shared_ptr<Net>& net, std::uint32_t width) {
    if (net == nullptr) return;
    try {
      threads_.emplace_back([net, width] { (void)net->prepare(1, kLineHeight, width); });
    } catch (const std::system_error&) {  // no thread to be had: the first run waits instead
    }
  };
  start(recognise, bucket_width(320));
  start(orient, kOrientWidth);
}

}  // namespace spirkiln::ocr
