// SPDX-License-Identifier: Apache-2.0
// Nets that compute something simple from their pictures, so that answers are known without models.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "spirkiln/ocr.hpp"

namespace spirkiln::test {

class FakeNet final : public Net {
 public:
  using Function = std::function<Result<TensorF32>(const Pictures&)>;
  explicit FakeNet(Function function) : function_(std::move(function)) {}

  Result<TensorF32> run(const Pictures& pictures) override {
    {
      const std::lock_guard lock(mutex_);
      shapes_.push_back({pictures.n, pictures.h, pictures.w});
    }
    return function_(pictures);
  }
  struct Shape {
    std::uint32_t n, h, w;
  };
  std::vector<Shape> shapes() const {
    const std::lock_guard lock(mutex_);
    return shapes_;
  }

 private:
  Function function_;
  mutable std::mutex mutex_;
  std::vector<Shape> shapes_;
};

inline std::shared_ptr<FakeNet> fake(FakeNet::Function function) {
  return std::make_shared<FakeNet>(std::move(function));
}

// Text is where a pixel is dark.
inline std::shared_ptr<FakeNet> dark_is_text() {
  return fake([](const Pictures& p) -> Result<TensorF32> {
    TensorF32 map{p.n, p.h, p.w, 1, {}};
    for (std::size_t i = 0; i < std::size_t{p.n} * p.h * p.w; ++i) {
      map.values.push_back(p.bytes[i * 4 + 3] != 0 && p.bytes[i * 4 + 1] < 100 ? 0.95f : 0.01f);
    }
    return map;
  });
}

inline std::shared_ptr<FakeNet> always_upright() {
  return fake([](const Pictures& p) -> Result<TensorF32> {
    TensorF32 out{p.n, 1, 1, 2, {}};
    for (std::uint32_t i = 0; i < p.n; ++i) out.values.insert(out.values.end(), {0.99f, 0.01f});
    return out;
  });
}

// One class a step: blank where the column is padding, else 1 + (mean of the 8 columns) modulo the
// number of characters. A picture's answer shows all of its pixels and nothing of its neighbours'.
inline std::shared_ptr<FakeNet> spells_pixels(std::uint32_t classes) {
  return fake([classes](const Pictures& p) -> Result<TensorF32> {
    const std::uint32_t steps = p.w / 8;
    TensorF32 out{p.n, 1, steps, classes, {}};
    out.values.assign(std::size_t{p.n} * steps * classes, 0.001f);
    for (std::uint32_t n = 0; n < p.n; ++n) {
      for (std::uint32_t t = 0; t < steps; ++t) {
        std::uint64_t sum = 0, count = 0;
        for (std::uint32_t y = 0; y < p.h; ++y) {
          for (std::uint32_t x = t * 8; x < t * 8 + 8; ++x) {
            const std::uint8_t* pixel = &p.bytes[((std::size_t{n} * p.h + y) * p.w + x) * 4];
            if (pixel[3] != 0) sum += pixel[0], ++count;
          }
        }
        const std::uint32_t best =
            count == 0 ? 0 : 1 + static_cast<std::uint32_t>(sum / count) % (classes - 2);
        out.values[(std::size_t{n} * steps + t) * classes + best] = 0.9f;
      }
    }
    return out;
  });
}

}  // namespace spirkiln::test
