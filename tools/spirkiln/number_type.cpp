// SPDX-License-Identifier: Apache-2.0
#include "number_type.hpp"

#include <fmt/format.h>

namespace spirkiln::gen {

std::string NumberType::name() const {
  const bool half = is_half();
  if (columns == 1 && rows == 1) return half ? "float16_t" : "float";
  const char* prefix = half ? "f16" : "";
  if (columns == 1) return fmt::format("{}vec{}", prefix, rows);
  if (columns == rows) return fmt::format("{}mat{}", prefix, rows);
  return fmt::format("{}mat{}x{}", prefix, columns, rows);
}

NumberType parse_number_type(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  for (std::string_view other : {"array of", "structure", "block", "sampler", "image"}) {
    if (text.find(other) != std::string_view::npos) return {};
  }
  NumberType type;
  const std::string_view last = text.substr(text.find_last_of(' ') + 1);
  if (last == "int") type.base = NumberType::Base::kInt;
  if (last == "uint") type.base = NumberType::Base::kUint;
  if (last == "float16_t") type.base = NumberType::Base::kHalf;
  if (last == "float") type.base = NumberType::Base::kFloat;
  const auto digit = [&](std::size_t at) { return text[at] - '0'; };
  if (const auto at = text.find("-component vector"); at != std::string_view::npos && at > 0) {
    type.rows = digit(at - 1);
  } else if (const auto x = text.find("X"); x != std::string_view::npos && x > 0 &&
                                            text.find(" matrix of") != std::string_view::npos) {
    type.columns = digit(x - 1);
    type.rows = digit(x + 1);
  }
  const auto sane = [](int n) { return n >= 1 && n <= 4; };
  return sane(type.columns) && sane(type.rows) ? type : NumberType{};
}

std::string_view quoted(std::string_view text, std::string_view lead) {
  std::size_t at = text.find(lead);
  if (at == std::string_view::npos) return {};
  at += lead.size();
  const std::size_t end = text.find('\'', at);
  if (end == std::string_view::npos) return {};
  return text.substr(at, end - at);
}

}  // namespace spirkiln::gen
