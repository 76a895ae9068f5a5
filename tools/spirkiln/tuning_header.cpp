// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tuning_file.hpp"
#include "tuning_keys.hpp"

namespace spirkiln::gen {
namespace {

using tuning::Fact;
using tuning::Rule;

std::string numbers_text(std::string_view name, const tuning::Numbers& numbers) {
  std::string out = fmt::format("inline constexpr Numbers {}{{\n", name);
  for (const NumberKey& key : number_keys()) {
    std::visit(
        [&](auto member) { out += fmt::format("    .{} = {},\n", key.name, numbers.*member); },
        key.member);
  }
  return out + "};\n";
}

std::string choice_text(tuning::Family family) {
  for (const FamilyKey& key : family_keys()) {
    if (key.family == family) return std::string(key.constant);
  }
  return {};
}

template <typename Choice>
std::string choice_text(const Choice& choice) {
  std::string out = "{";
  for (const auto& key : choice_keys<Choice>()) {
    out += fmt::format("{}{}", out.size() == 1 ? "" : ", ", choice.*key.member);
    if constexpr (requires { &Choice::matrices_n8; }) {
      if (key.member == &Choice::matrices_n8) out += fmt::format(", {}", choice.matrices_n16);
    }
  }
  return out + "}";
}

std::string condition_text(const tuning::Condition& c) {
  for (const FactKey& key : fact_keys()) {
    if (key.fact != c.fact) continue;
    return fmt::format("{{{}, {}u, {}u, {}u}}", key.constant, c.from, c.to, c.multiple_of);
  }
  return {};
}

template <typename Choice>
std::string rules_text(std::string_view type, std::string_view name,
                       const std::vector<Rule<Choice>>& rules) {
  if (rules.empty()) return {};
  std::string out = fmt::format("inline constexpr Rule<{}> {}[] = {{\n", type, name);
  for (const Rule<Choice>& rule : rules) {
    std::string conditions;
    for (std::uint32_t i = 0; i < rule.count; ++i) {
      conditions += (i == 0 ? "" : ", ") + condition_text(rule.conditions[i]);
    }
    out +=
        fmt::format("    {{{{{}}}, {}, {}}},\n", conditions, rule.count, choice_text(rule.choice));
  }
  return out + "};\n";
}

}  // namespace

std::string tuning_header(const TuningFile& file) {
  std::string out =
      "// Made by \"spirkiln tuning\" of a tuning file: edit that.\n"
      "#pragma once\n\n"
      "#include \"graph/lower/tuning.hpp\"\n\n"
      "namespace spirkiln::tuning {\n\n";
  out += numbers_text("kGpu", file.gpu);
  out += numbers_text("kSoftware", file.software);
  out += rules_text("Family", "kProduct", file.product);
  out += rules_text("GemmShape", "kTiledShape", file.tiled_shape);
  out += rules_text("GemmShape", "kTiledSplit", file.tiled_split);
  out += rules_text("MatrixTileChoice", "kMatrixTile", file.matrix_tile);
  out += rules_text("MatrixTileChoice", "kMatrixSplit", file.matrix_split);
  out += rules_text("MatrixTileChoice", "kMatrixLite", file.matrix_lite);
  out += rules_text("WindowTile", "kWindowTile", file.window_tile);
  out += rules_text("SeparableTileChoice", "kSeparableTile", file.separable_tile);
  out += rules_text("GateGroup", "kGateGroup", file.gate_group);
  const auto list = [](std::string_view name, bool empty) {
    return fmt::format("    {},\n", empty ? "{}" : name);
  };
  out += "inline constexpr Tuning kTable{\n    kGpu,\n    kSoftware,\n";
  out += list("kProduct", file.product.empty());
  out += list("kTiledShape", file.tiled_shape.empty());
  out += list("kTiledSplit", file.tiled_split.empty());
  out += list("kMatrixTile", file.matrix_tile.empty());
  out += list("kMatrixSplit", file.matrix_split.empty());
  out += list("kMatrixLite", file.matrix_lite.empty());
  out += list("kWindowTile", file.window_tile.empty());
  out += list("kSeparableTile", file.separable_tile.empty());
  out += list("kGateGroup", file.gate_group.empty());
  return out + "};\n\n}  // namespace spirkiln::tuning\n";
}

}  // namespace spirkiln::gen
