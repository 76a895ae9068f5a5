// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <fmt/format.h>

#include <charconv>

namespace spirkiln::access {
namespace {

Error refuse(std::string text) { return Error{ErrorCode::kInvalidArgument, std::move(text)}; }

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// "N" or "SET.N".
std::optional<std::uint32_t> parse_key(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto set = dot == text.npos ? std::uint64_t{0} : number(text.substr(0, dot));
  const auto binding = number(dot == text.npos ? text : text.substr(dot + 1));
  if (!set || !binding || *set > 0x7fff || *binding > 0xffff) return std::nullopt;
  return static_cast<std::uint32_t>(*set << 16 | *binding);
}

}  // namespace

std::optional<std::array<std::uint32_t, 3>> parse_triple(const std::string& text) {
  std::array<std::uint32_t, 3> out{1, 1, 1};
  std::string_view rest = text;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t end = std::min(rest.find_first_of(",x"), rest.size());
    const auto value = number(rest.substr(0, end));
    if (!value || *value == 0 || *value > 0xffffffffu) return std::nullopt;
    out[i] = static_cast<std::uint32_t>(*value);
    if (end == rest.size()) return out;
    rest.remove_prefix(end + 1);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(const std::string& text) {
  if (text.empty()) return std::nullopt;
  constexpr std::string_view kUnits = "KMG";
  const std::size_t unit = kUnits.find(text.back());
  const unsigned shift = unit == kUnits.npos ? 0 : 10 * (static_cast<unsigned>(unit) + 1);
  const auto value = number(std::string_view(text).substr(0, text.size() - (shift == 0 ? 0 : 1)));
  if (!value || *value == 0 || *value > (~std::uint64_t{0} >> shift)) return std::nullopt;
  return *value << shift;
}

Status parse_buffer(const std::string& text, DispatchRequest* request) {
  const std::size_t equal = std::min(text.find('='), text.size());
  const auto key = parse_key(std::string_view(text).substr(0, equal));
  const auto bytes = equal < text.size() ? parse_bytes(text.substr(equal + 1)) : std::nullopt;
  if (!key || !bytes) {
    return refuse(
        fmt::format("--buffer '{}': expected BINDING=BYTES such as 2=16K, from 1 byte on", text));
  }
  request->buffers[*key] = *bytes;
  return Ok{};
}

Status parse_image(const std::string& text, DispatchRequest* request) {
  const auto wrong = [&] {
    return refuse(fmt::format(
        "--image '{}': expected BINDING=WxH, or with a format and a filter 1=512x512:r32f:linear",
        text));
  };
  const std::size_t equal = std::min(text.find('='), text.size());
  const auto key = parse_key(std::string_view(text).substr(0, equal));
  if (!key || equal >= text.size()) return wrong();
  std::string rest = text.substr(equal + 1);
  ImageChoice choice;
  for (int part = 0; !rest.empty(); ++part) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string word = rest.substr(0, end);
    rest.erase(0, std::min(end + 1, rest.size()));
    if (part == 0) {
      const auto size = parse_triple(word);
      if (!size) return wrong();
      choice.size = *size;
    } else if (word == "linear" || word == "nearest") {
      choice.linear = word == "linear";
    } else {
      choice.texel = word;
    }
  }
  request->images[*key] = choice;
  return Ok{};
}

Status parse_value(const std::string& text, DispatchRequest* request) {
  const std::size_t equal = text.find('=');
  if (equal == std::string::npos || equal == 0) {
    return refuse(fmt::format("--set '{}': expected NAME=VALUE", text));
  }
  request->values.emplace_back(text.substr(0, equal), text.substr(equal + 1));
  return Ok{};
}

}  // namespace spirkiln::access
