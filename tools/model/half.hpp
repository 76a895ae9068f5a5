// SPDX-License-Identifier: Apache-2.0
// IEEE binary16 by hand: the compiler's _Float16 is not there on every target we build for.
#pragma once

#include <cstdint>

namespace spirkiln::packer {

// Rounds to nearest, ties to even; subnormals kept; too large becomes infinity.
std::uint16_t half_from_double(double value);
double double_from_half(std::uint16_t half);

}  // namespace spirkiln::packer
