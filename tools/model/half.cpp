// SPDX-License-Identifier: Apache-2.0
#include "half.hpp"

#include <cmath>
#include <limits>

namespace spirkiln::packer {

std::uint16_t half_from_double(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude == 0) return sign;  // has no exponent
  if (magnitude >= 65520) return sign | 0x7c00;  // half of the step above 65504 rounds up
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = m * 2^exponent, m in [0.5, 1)
  // Steps are 2^(exponent - 11), and never finer than 2^-24.
  const int step = exponent - 11 < -24 ? -24 : exponent - 11;
  const double units = std::nearbyint(std::ldexp(magnitude, -step));
  const auto n = static_cast<std::uint32_t>(units);  // at most 2048
  if (step == -24) return static_cast<std::uint16_t>(sign | n);  // 1024 units are the first normal
  // n in [1024, 2048]; 2048 carries into the exponent by itself.
  return static_cast<std::uint16_t>(sign | ((static_cast<std::uint32_t>(step + 24) << 10) + n));
}

double double_from_half(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  double magnitude = 0;
  if (exponent == 31) {
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, -24);
  } else {
    magnitude = std::ldexp(1024 + mantissa, exponent - 25);
  }
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace spirkiln::packer
