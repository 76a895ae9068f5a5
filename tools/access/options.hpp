// SPDX-License-Identifier: Apache-2.0
// From words of the command line to requests.
#pragma once

#include <optional>
#include <string>

#include "look.hpp"

namespace spirkiln::access {

// "32,8,1" or "32x8": one to three numbers from 1.
std::optional<std::array<std::uint32_t, 3>> parse_triple(const std::string& text);
// "4096", "16K", "4M", "1G": powers of 1024. Nothing for 0 and for what overflows 64 bits.
std::optional<std::uint64_t> parse_bytes(const std::string& text);
// "2=16K" or "1.2=16K" (set 1, binding 2).
Status parse_buffer(const std::string& text, DispatchRequest* request);
// "2=512x512", "2=512x512:r32f:linear".
Status parse_image(const std::string& text, DispatchRequest* request);
Status parse_value(const std::string& text, DispatchRequest* request);

}  // namespace spirkiln::access
