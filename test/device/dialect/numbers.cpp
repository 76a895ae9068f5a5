// SPDX-License-Identifier: Apache-2.0
#include "numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace spirkiln::test {
namespace {

std::uint32_t bits_of(float v) { return std::bit_cast<std::uint32_t>(v); }

// value / 2^exponent as a whole number. The quotient is exact in double precision.
double whole(double value, int exponent, bool to_zero) {
  const double q = std::ldexp(value, -exponent);
  return to_zero ? std::trunc(q) : std::nearbyint(q);  // the process rounds ties to even
}

void add_with_both_signs(std::vector<std::uint32_t>* list, std::uint32_t bits) {
  list->push_back(bits);
  list->push_back(bits | 0x80000000u);
}

std::vector<std::uint32_t> float_values(std::size_t count) {
  std::vector<std::uint32_t> v;
  for (const std::uint32_t bits :
       {0u, 1u, 0x7fffffu, 0x800000u, 0x7f800000u, 0x7fc00000u, 0x7f800001u, 0x7fffffffu,
        0x7f7fffffu, bits_of(1.0f), bits_of(65504.0f), bits_of(65519.0f), bits_of(65519.996f),
        bits_of(65520.0f), bits_of(65536.0f), bits_of(3.3895314e38f), bits_of(3.3961775e38f)}) {
    add_with_both_signs(&v, bits);
  }
  // Ties between halves, subnormal ones among them, and one step to both sides; every 31st.
  for (std::uint32_t h = 0; h < 0x7c00; h += h < 64 || h > 0x7be0 ? 1 : 31) {
    const double low = widen_half(static_cast<std::uint16_t>(h));
    const double high = h == 0x7bff ? 65536.0 : widen_half(static_cast<std::uint16_t>(h + 1));
    const std::uint32_t tie = bits_of(static_cast<float>((low + high) / 2));
    for (const std::uint32_t bits : {tie - 1, tie, tie + 1}) add_with_both_signs(&v, bits);
  }
  // The same of bf16, from subnormals on.
  for (std::uint32_t top = 0; top < 0x7f80; top += 61) {
    for (const std::uint32_t low : {0x7fffu, 0x8000u, 0x8001u}) {
      add_with_both_signs(&v, (top << 16) | low);
      add_with_both_signs(&v, ((top | 1) << 16) | low);
    }
  }
  // Random ones among what a half can be, then any bits.
  std::mt19937 random(20231);
  for (int i = 0; i < 2000; ++i) {
    v.push_back((random() & 0x80000000u) | (0x33000000u + random() % 0x14800000u));
  }
  if (v.size() > count) {  // a fair choice where few are wanted; the first ones always
    std::shuffle(v.begin() + 34, v.end(), random);
    v.resize(count);
  }
  while (v.size() < count) v.push_back(static_cast<std::uint32_t>(random()));
  return v;
}

std::vector<std::uint32_t> small_values(Codec codec, std::size_t count) {
  const std::uint32_t patterns = codec == Codec::kI8 ? 256 : 65536;
  std::vector<std::uint32_t> v(patterns);
  for (std::uint32_t i = 0; i < patterns; ++i) v[i] = i;
  std::mt19937 random(20232);
  if (count < patterns) {
    // Zeros, the ends of subnormals, 1, the largest, infinities, NaN of both kinds and signs.
    std::vector<std::uint32_t> first = {0,      1,      0x3ff,  0x400,  0x3c00, 0x7bff,
                                        0x7c00, 0x7c01, 0x7e00, 0x7fff, 0x7f,   0x80,
                                        0x3f80, 0x7f7f, 0x7f80, 0x7f81, 0x7fc0};
    for (std::size_t i = 0, n = first.size(); i < n; ++i) first.push_back(first[i] | 0x8000);
    std::shuffle(v.begin(), v.end(), random);
    v.insert(v.begin(), first.begin(), first.end());
  }
  for (std::size_t i = 0; v.size() < count; ++i) v.push_back(v[i]);
  v.resize(count);
  return v;
}

}  // namespace

std::size_t bytes_of(Codec codec) {
  switch (codec) {
    case Codec::kI8:
      return 1;
    case Codec::kF16:
    case Codec::kBf16:
    case Codec::kI16:
      return 2;
    default:
      return 4;
  }
}

bool is_float(Codec codec) {
  return codec == Codec::kF32 || codec == Codec::kF16 || codec == Codec::kBf16;
}

std::string to_text(Rounding r) {
  return std::string(r.to_zero ? "towards zero" : "to nearest, ties to even") +
         (r.flush ? ", subnormal halves become 0" : ", subnormal halves stay");
}

std::uint16_t narrow_half(float value, Rounding r) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;
  const double magnitude = std::abs(static_cast<double>(value));
  if (std::isinf(magnitude)) return sign | 0x7c00;
  // Halves of one power of two lie 2^step apart; below 2^-14 they lie as those above do.
  const int step = magnitude == 0 ? -24 : std::max(std::ilogb(magnitude) - 10, -24);
  const double rounded = std::ldexp(whole(magnitude, step, r.to_zero), step);
  if (rounded >= 65536.0) return sign | (r.to_zero ? 0x7bff : 0x7c00);
  if (rounded < 0x1p-14) {
    if (r.flush) return sign;
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(rounded * 0x1p24));
  }
  const int exponent = std::ilogb(rounded);
  const double fraction = std::ldexp(rounded, -exponent) - 1.0;
  return static_cast<std::uint16_t>(sign | ((exponent + 15) << 10) |
                                    static_cast<int>(fraction * 1024.0));
}

float widen_half(std::uint16_t bits, bool flush) {
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 0x3ff;
  if (exponent == 31) {
    return static_cast<float>(fraction != 0 ? std::copysign(NAN, sign) : sign * INFINITY);
  }
  if (exponent == 0) return static_cast<float>(flush ? sign * 0.0 : sign * fraction * 0x1p-24);
  return static_cast<float>(sign * std::ldexp(1.0 + fraction / 1024.0, exponent - 15));
}

std::uint16_t narrow_bf16(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7fc0;
  const double magnitude = std::abs(static_cast<double>(value));
  if (std::isinf(magnitude)) return sign | 0x7f80;
  const int step = magnitude == 0 ? -133 : std::max(std::ilogb(magnitude) - 7, -133);
  const double rounded = std::ldexp(whole(magnitude, step, false), step);
  if (rounded >= 0x1p128) return sign | 0x7f80;
  // Whatever is left is a float whose lower half is 0.
  return static_cast<std::uint16_t>(sign | (bits_of(static_cast<float>(rounded)) >> 16));
}

float widen_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::vector<std::byte> pack_lanes(Codec codec, std::span<const std::uint32_t> bits) {
  const std::size_t size = bytes_of(codec);
  std::vector<std::byte> bytes(bits.size() * size);
  // Little-endian, as every device that this runs on.
  for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(&bytes[i * size], &bits[i], size);
  return bytes;
}

std::vector<std::uint32_t> unpack_lanes(Codec codec, std::span<const std::byte> bytes) {
  const std::size_t size = bytes_of(codec);
  std::vector<std::uint32_t> bits(bytes.size() / size);
  for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(&bits[i], &bytes[i * size], size);
  return bits;
}

bool same_number(Codec codec, std::uint32_t a, std::uint32_t b) {
  if (a == b) return true;
  switch (codec) {
    case Codec::kF32:
      return (a & 0x7fffffff) > 0x7f800000 && (b & 0x7fffffff) > 0x7f800000;
    case Codec::kF16:
      return (a & 0x7fff) > 0x7c00 && (b & 0x7fff) > 0x7c00;
    case Codec::kBf16:
      return (a & 0x7fff) > 0x7f80 && (b & 0x7fff) > 0x7f80;
    default:
      return false;
  }
}

std::vector<std::uint32_t> values_of(Codec codec, std::size_t count) {
  if (codec == Codec::kF32) return float_values(count);
  if (codec == Codec::kI32) {
    std::vector<std::uint32_t> v = {0, 1, ~0u, 127, 128, 255, 256, 32767, 32768, 65535, 65536};
    std::mt19937 random(20233);
    while (v.size() < count) v.push_back(static_cast<std::uint32_t>(random()));
    return v;
  }
  return small_values(codec, count);
}

}  // namespace spirkiln::test
