// SPDX-License-Identifier: Apache-2.0
// What the modes that read pictures share: the reader, the pictures, what is known of them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spirkiln/ocr.hpp"
#include "truth.hpp"

namespace spirkiln::bench {

struct ReadingArguments {
  std::vector<std::string> inputs;  // pictures, or folders of pictures
  std::string models, device, backend, variant;
  std::uint32_t threads = 0;  // of the CPU backend
};

void add_reading_options(CLI::App* mode, ReadingArguments* arguments);

struct Reading {
  Device device;
  OcrReader reader;
};
Result<Reading> open_reading(const ReadingArguments& arguments);

// The files of the inputs, in order. Errors: kIo, kInvalidArgument for a folder without a picture.
Result<std::vector<std::string>> picture_files(const std::vector<std::string>& inputs);

// What stands in the pictures: of `path`, or where that is empty of ground_truth.json in the
// folder, where exactly one is named and has one. Nothing where nothing is known.
Result<std::optional<Pages>> known_texts(const std::string& path,
                                         const std::vector<std::string>& inputs);

// The lines of a page, each with a newline behind it.
std::string page_text(const OcrPage& page);

}  // namespace spirkiln::bench
