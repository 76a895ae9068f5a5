// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "cli_helpers.hpp"
#include "read_file.hpp"
#include "sizes.hpp"

namespace spirkiln::bench {

void say(Severity severity, std::string_view text) {
  // What $SPIRKILN_PROFILE asks for, and nothing else of the runtime's small talk.
  if (severity == Severity::kInfo) {
    if (text.starts_with("profile ")) fmt::print(stderr, "spirkiln-bench: {}\n", text);
    return;
  }
  fmt::print(stderr, "spirkiln-bench: {}: {}\n", severity == Severity::kError ? "error" : "warning",
             text);
}

int fail(const std::string& message, int code) {
  fmt::print(stderr, "spirkiln-bench: error: {}\n", message);
  return code;
}

// An index or a part of the name.
DeviceOptions device_options(const std::string& text) {
  DeviceOptions options;
  options.message = say;
  const bool number =
      !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
  if (number) {
    options.index = static_cast<std::uint32_t>(std::stoul(text));
  } else {
    options.name = text;
  }
  return options;
}

bool parse_shape(const std::string& text, PictureShape* shape) {
  const auto sizes = tool::parse_sizes<3>(text, 1u << 26);
  if (!sizes) return false;
  *shape = {(*sizes)[0], (*sizes)[1], (*sizes)[2]};
  return std::uint64_t{shape->n} * shape->h <= (1u << 26) &&
         std::uint64_t{shape->n} * shape->h * shape->w <= (1u << 26);
}

int wrong_shape(const std::string& text) {
  return fail(
      fmt::format("--shape {}: expected NxHxW such as 1x640x960, at most 2^26 pixels", text), 2);
}

std::vector<std::uint8_t> seeded_picture(const PictureShape& o, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(std::size_t{o.n} * o.h * o.w * 4);
  for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
    const std::size_t column = i % o.w, row = i / o.w;
    const auto x = static_cast<double>(column), y = static_cast<double>(row);
    for (std::size_t c = 0; c < 3; ++c) {
      const double wave = 96 + 80 * std::sin(x / (7 + 5.0 * static_cast<double>(c))) *
                                   std::cos(y / (11 + 3.0 * static_cast<double>(c)));
      bytes[i * 4 + c] = static_cast<std::uint8_t>(wave + static_cast<double>(random() % 64));
    }
    bytes[i * 4 + 3] = 255;
  }
  return bytes;
}

Result<std::vector<std::uint8_t>> picture_bytes(const PictureShape& shape, std::uint32_t seed,
                                                const std::string& raw) {
  if (raw.empty()) return seeded_picture(shape, seed);
  const std::uint64_t wanted = std::uint64_t{shape.n} * shape.h * shape.w * 4;
  const auto bytes = tool::read_file(raw, std::uint64_t{4} << 26);  // of the largest shape
  if (!bytes) return bytes.error();
  if (bytes->size() != wanted) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: {} bytes, expected {}: {} pictures of {} x {} with B, G, R and "
                             "validity for each pixel",
                             raw, bytes->size(), wanted, shape.n, shape.h, shape.w)};
  }
  return std::vector<std::uint8_t>(bytes->begin(), bytes->end());
}

void add_raw(CLI::App* mode, std::string* raw) {
  mode->add_option(
          "--raw", *raw,
          "file with the pictures' bytes, n * h * w * 4: B, G, R, validity (without: noise)")
      ->check(tool::not_empty());
}

}  // namespace spirkiln::bench
