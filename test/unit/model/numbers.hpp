// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spirkiln::test {

// Seeded numbers in [low, high), the same everywhere.
class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : state_(seed) {}
  std::uint32_t next() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_ >> 8;
  }
  double operator()(double low, double high) {
    return low + (high - low) * next() / static_cast<double>(1u << 24);
  }
  std::vector<float> floats(std::size_t n, double low = -1, double high = 1) {
    std::vector<float> v(n);
    for (float& f : v) f = static_cast<float>((*this)(low, high));
    return v;
  }

 private:
  std::uint32_t state_;
};

}  // namespace spirkiln::test
