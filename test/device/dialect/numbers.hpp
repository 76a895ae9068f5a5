// SPDX-License-Identifier: Apache-2.0
// What floats become in 16 bits, and the values that are tried. Written for the tests by itself:
// through double precision and integer rounding, with nothing of the runtime's or the tools'.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spirkiln::test {

enum class Codec { kF32, kF16, kBf16, kI8, kI16, kI32 };

std::size_t bytes_of(Codec codec);
bool is_float(Codec codec);

// How a device turns 32 bits into 16 where the language leaves it to the device.
struct Rounding {
  bool to_zero = false;  // else to nearest, ties to even
  bool flush = false;    // subnormal halves become 0 of their sign
  bool operator==(const Rounding&) const = default;
};
std::string to_text(Rounding rounding);

// Bits of a half; NaN is 0x7e00 with the sign.
std::uint16_t narrow_half(float value, Rounding rounding = {});
// Exact, but for what `flush` takes.
float widen_half(std::uint16_t bits, bool flush = false);
std::uint16_t narrow_bf16(float value);
float widen_bf16(std::uint16_t bits);

// Lanes side by side, as a buffer holds them: raw bits of each.
std::vector<std::byte> pack_lanes(Codec codec, std::span<const std::uint32_t> bits);
std::vector<std::uint32_t> unpack_lanes(Codec codec, std::span<const std::byte> bytes);

// Equal bits, or both any NaN of that width.
bool same_number(Codec codec, std::uint32_t a, std::uint32_t b);

// `count` lanes (a power of two from 4096 on) that have every kind of value of the codec: all
// 65536 patterns of 16 bits where they fit; for 32 bits zeros, subnormals, infinities, NaN, what
// lies around the largest half, ties between neighbouring halves and what is one step beside them,
// the same for bf16, then random bits. Always the same.
std::vector<std::uint32_t> values_of(Codec codec, std::size_t count);

}  // namespace spirkiln::test
