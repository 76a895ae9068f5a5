// SPDX-License-Identifier: Apache-2.0
// What the modes of spirkiln-bench share around their work.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "spirkiln/spirkiln.hpp"

namespace spirkiln::bench {

// What the mode that was named does; gives the exit status.
using Command = std::function<int()>;

void say(Severity severity, std::string_view text);
int fail(const std::string& message, int code = 1);

// An index or a part of the name.
DeviceOptions device_options(const std::string& text);

struct PictureShape {
  std::uint32_t n = 1, h = 0, w = 0;
};
// "1x640x960": pictures, height, width; at most 2^26 pixels.
bool parse_shape(const std::string& text, PictureShape* shape);
int wrong_shape(const std::string& text);

// 4 bytes a pixel, all valid. Low frequencies and noise: what a photograph has, and every kernel
// has something to do.
std::vector<std::uint8_t> seeded_picture(const PictureShape& shape, std::uint32_t seed);

// The bytes of the pictures that a graph runs on: those of the file `raw` (n * h * w * 4, as
// Pictures), or where that is empty seeded_picture(). Errors: kIo; kInvalidArgument for another
// size.
Result<std::vector<std::uint8_t>> picture_bytes(const PictureShape& shape, std::uint32_t seed,
                                                const std::string& raw);
void add_raw(CLI::App* mode, std::string* raw);

// Each adds its mode, which sets `chosen`.
void add_cold(CLI::App& app, Command* chosen);
void add_ab(CLI::App& app, Command* chosen);
void add_cmp(CLI::App& app, Command* chosen);
void add_conc(CLI::App& app, Command* chosen);
void add_e2e(CLI::App& app, Command* chosen);  // where libspirkiln-ocr can be built
void add_gemm(CLI::App& app, Command* chosen);
void add_layers(CLI::App& app, Command* chosen);
void add_peak(CLI::App& app, Command* chosen);
void add_prof(CLI::App& app, Command* chosen);

}  // namespace spirkiln::bench
