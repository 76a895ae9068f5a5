// SPDX-License-Identifier: Apache-2.0
// What variants/tuning.toml may say: names, members and bounds. One place for its reader and for
// its writer.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "graph/lower/tuning.hpp"

namespace spirkiln::gen {

using NumberMember = std::variant<std::uint32_t tuning::Numbers::*,
                                  std::uint64_t tuning::Numbers::*, bool tuning::Numbers::*>;

struct NumberKey {
  std::string_view name;  // the member's, too
  NumberMember member;
  std::uint64_t least, most;  // of no use for bool
  bool power_of_two = false;
};
// In the members' order.
std::span<const NumberKey> number_keys();

struct FactKey {
  std::string_view name;
  tuning::Fact fact;
  std::string_view constant;  // as C++
};
std::span<const FactKey> fact_keys();

// What the rules of each list may ask.
inline constexpr tuning::Fact kProductFacts[] = {
    tuning::Fact::kSoftware, tuning::Fact::kMatrixM, tuning::Fact::kMatrixN, tuning::Fact::kRows,
    tuning::Fact::kK4,       tuning::Fact::kN4,      tuning::Fact::kK4N4};
inline constexpr tuning::Fact kShapeFacts[] = {tuning::Fact::kRows, tuning::Fact::kK4,
                                               tuning::Fact::kN4, tuning::Fact::kK4N4,
                                               tuning::Fact::kEmptyColumns};
inline constexpr tuning::Fact kShapeSplitFacts[] = {tuning::Fact::kRows, tuning::Fact::kK4,
                                                    tuning::Fact::kN4, tuning::Fact::kK4N4,
                                                    tuning::Fact::kGroups};
inline constexpr tuning::Fact kTileFacts[] = {tuning::Fact::kMatrixM,
                                              tuning::Fact::kMatrixN,
                                              tuning::Fact::kRows,
                                              tuning::Fact::kK4,
                                              tuning::Fact::kN4,
                                              tuning::Fact::kK4N4,
                                              tuning::Fact::kMatrixColumns,
                                              tuning::Fact::kOwnGroups};
inline constexpr tuning::Fact kTileSplitFacts[] = {tuning::Fact::kMatrixM,
                                                   tuning::Fact::kMatrixN,
                                                   tuning::Fact::kRows,
                                                   tuning::Fact::kK4,
                                                   tuning::Fact::kN4,
                                                   tuning::Fact::kK4N4,
                                                   tuning::Fact::kMatrixColumns,
                                                   tuning::Fact::kOwnGroups,
                                                   tuning::Fact::kGroups};
inline constexpr tuning::Fact kLiteFacts[] = {tuning::Fact::kRows, tuning::Fact::kK4,
                                              tuning::Fact::kN4, tuning::Fact::kK4N4};
inline constexpr tuning::Fact kWindowFacts[] = {tuning::Fact::kMatrixM, tuning::Fact::kMatrixN,
                                                tuning::Fact::kN4, tuning::Fact::kMatrixColumns,
                                                tuning::Fact::kOwnGroups};
inline constexpr tuning::Fact kSeparableFacts[] = {
    tuning::Fact::kMatrixM, tuning::Fact::kMatrixN, tuning::Fact::kRows,   tuning::Fact::kK4,
    tuning::Fact::kN4,      tuning::Fact::kK4N4,    tuning::Fact::kWindowW};
inline constexpr tuning::Fact kGateFacts[] = {tuning::Fact::kSoftware, tuning::Fact::kInvocations,
                                              tuning::Fact::kSharedBytes, tuning::Fact::kMiddle4,
                                              tuning::Fact::kN4};

struct FamilyKey {
  std::string_view name;
  tuning::Family family;
  std::string_view constant;
};
std::span<const FamilyKey> family_keys();

// A part of a choice.
template <typename Choice>
struct ChoiceKey {
  std::string_view name;
  std::uint32_t Choice::* member;
  std::uint32_t least, most;
  bool power_of_two = false;
};
// In the members' order. The two counts of matrices_n that tiles of matrices have are one key.
template <typename Choice>
std::span<const ChoiceKey<Choice>> choice_keys();
template <>
std::span<const ChoiceKey<tuning::GemmShape>> choice_keys();
template <>
std::span<const ChoiceKey<tuning::MatrixTileChoice>> choice_keys();
template <>
std::span<const ChoiceKey<tuning::WindowTile>> choice_keys();
template <>
std::span<const ChoiceKey<tuning::SeparableTileChoice>> choice_keys();
template <>
std::span<const ChoiceKey<tuning::GateGroup>> choice_keys();

}  // namespace spirkiln::gen
