// SPDX-License-Identifier: Apache-2.0
// Numbers of SPIR-V that are younger than the SPIRV-Headers of Debian 12.
#pragma once

#include <cstdint>

namespace spirkiln::gen {

inline constexpr std::uint32_t kCapabilityBFloat16TypeKhr = 5116;
inline constexpr std::uint32_t kCapabilityBFloat16DotProductKhr = 5117;
inline constexpr std::uint32_t kCapabilityBFloat16CooperativeMatrixKhr = 5118;
inline constexpr std::uint32_t kCapabilityCooperativeMatrixKhr = 6022;
inline constexpr std::uint16_t kOpTypeCooperativeMatrixKhr = 4456;
inline constexpr std::uint16_t kOpCooperativeMatrixLoadKhr = 4457;
inline constexpr std::uint16_t kOpCooperativeMatrixStoreKhr = 4458;
inline constexpr std::uint16_t kOpCooperativeMatrixMulAddKhr = 4459;
inline constexpr std::uint16_t kOpCooperativeMatrixLengthKhr = 4460;

}  // namespace spirkiln::gen
