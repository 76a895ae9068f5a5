// SPDX-License-Identifier: Apache-2.0
#include "answer_numbers.hpp"

#include <fmt/format.h>

#include <bit>
#include <functional>
#include <limits>
#include <optional>

#include "list.hpp"

namespace spirkiln::gen {
namespace {

using table::SpecType;
using MaybeType = std::optional<SpecType>;

std::uint32_t bits_of(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

std::optional<std::uint32_t> whole(std::int64_t value, SpecType type) {
  switch (type) {
    case SpecType::kFloat:
      return bits_of(static_cast<double>(value));
    case SpecType::kBool:
      if (value != 0 && value != 1) return std::nullopt;
      break;
    case SpecType::kUint:
      if (value < 0) return std::nullopt;
      break;
    case SpecType::kInt:
      if (value > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
      break;
  }
  return static_cast<std::uint32_t>(value);
}

// Nothing where the type has no such number.
std::optional<std::uint32_t> convert(const WrittenNumber& number, MaybeType type) {
  if (const auto* bits = std::get_if<Bits>(&number.value)) {
    if (type == SpecType::kBool && bits->value > 1) return std::nullopt;
    return bits->value;
  }
  if (const auto* b = std::get_if<bool>(&number.value)) {
    if (type == SpecType::kFloat) return std::nullopt;
    return *b ? 1 : 0;
  }
  if (const auto* f = std::get_if<double>(&number.value)) {
    if (type && type != SpecType::kFloat) return std::nullopt;
    return bits_of(*f);
  }
  const std::int64_t i = std::get<std::int64_t>(number.value);
  return type ? whole(i, *type) : static_cast<std::uint32_t>(i);
}

std::string_view expected(SpecType type) {
  switch (type) {
    case SpecType::kBool:
      return "true or false";
    case SpecType::kFloat:
      return "a number";
    case SpecType::kInt:
      return "a whole number of -2147483648 to 2147483647, or its bits (0x10)";
    default:
      return "a whole number of 0 to 4294967295, or its bits (0x10)";
  }
}

struct Typed {
  std::uint32_t bits = 0;
  std::string error;
};

// The bits that all modules agree in.
Typed type_number(const WrittenNumber& number, const std::string& name,
                  const std::vector<VariantModule>& modules,
                  const std::function<MaybeType(const Reflection&)>& type_in) {
  const VariantModule* first = nullptr;
  MaybeType first_type;
  Typed typed{convert(number, std::nullopt).value_or(0), {}};
  for (const VariantModule& module : modules) {
    if (module.blob == nullptr) continue;
    const MaybeType type = type_in(module.blob->reflection);
    if (!type) continue;
    const auto bits = convert(number, type);
    if (!bits) {
      return {0, fmt::format("{} is of type {} in {}: expected {}", name, spec_type_name(*type),
                             module.variant->name, expected(*type))};
    }
    if (first != nullptr && *bits != typed.bits) {
      return {0, fmt::format("{} is of type {} in {} and {} in {}: give each type an answer of its "
                             "own, by 'axes' or 'tolerance', or give the number's bits (0x10)",
                             name, spec_type_name(*first_type), first->variant->name,
                             spec_type_name(*type), module.variant->name)};
    }
    if (first == nullptr) {
      first = &module;
      first_type = type;
    }
    typed.bits = *bits;
  }
  return typed;
}

}  // namespace

TypedAnswer typed_answer(const PlacedAnswer& placed, const std::vector<VariantModule>& modules) {
  TypedAnswer typed{placed.answer, {}};
  const auto set = [&](std::uint32_t* bits, const WrittenNumber& number, const std::string& name,
                       const std::function<MaybeType(const Reflection&)>& type_in) {
    Typed value = type_number(number, name, modules, type_in);
    *bits = value.bits;
    if (value.error.empty()) return;
    typed.errors.push_back(number.position);
    typed.errors.back().text = std::move(value.error);
  };
  for (std::size_t i = 0; i < placed.constants.size(); ++i) {
    auto& [name, bits] = typed.answer.constants[i];
    set(&bits, placed.constants[i], "'" + name + "'", [&](const Reflection& r) -> MaybeType {
      for (const SpecConstant& s : r.specs) {
        if (s.name == name) return s.type;
      }
      return std::nullopt;
    });
  }
  for (std::size_t i = 0; i < placed.push.size(); ++i) {
    set(&typed.answer.push[i], placed.push[i], fmt::format("the push constant at byte {}", 4 * i),
        [&](const Reflection& r) {
          return i < r.push_types.size() ? r.push_types[i] : MaybeType();
        });
  }
  return typed;
}

}  // namespace spirkiln::gen
