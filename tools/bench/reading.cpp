// SPDX-License-Identifier: Apache-2.0
#include "reading.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "cli_helpers.hpp"
#include "commands.hpp"
#include "inputs.hpp"

namespace spirkiln::bench {

namespace fs = std::filesystem;

void add_reading_options(CLI::App* mode, ReadingArguments* a) {
  mode->add_option("--models", a->models,
                   "folder with det.spkm, cls.spkm, rec.spkm, ppocr_keys_v1.txt")
      ->check(tool::not_empty());
  mode->add_option("--backend", a->backend, "vulkan, cpu or auto")
      ->check(CLI::IsMember(backend_names()));
  mode->add_option("--variant", a->variant, "only this form of every kernel")
      ->check(CLI::IsMember(variant_names()));
  mode->add_option("--device", a->device, "the device's index, or a part of its name");
  mode->add_option("--cpu-threads", a->threads, "of the CPU backend")->check(CLI::Range(1, 1024));
}

Result<Reading> open_reading(const ReadingArguments& arguments) {
  DeviceOptions options = device_options(arguments.device);
  options.backend = arguments.backend;
  auto device = Device::open(options);
  if (!device) return std::move(device).error();
  GraphOptions graph_options;
  graph_options.variant = arguments.variant;
  graph_options.threads = arguments.threads;
  graph_options.message = say;
  const std::string folder = arguments.models.empty() ? default_packs_folder() : arguments.models;
  auto reader = OcrReader::open(folder, *device, graph_options, {});
  if (!reader) {
    return Error{reader.error().code,
                 fmt::format("{} (packs are looked for in {}; --models names another folder)",
                             reader.error().message, folder)};
  }
  return Reading{*std::move(device), *std::move(reader)};
}

Result<std::vector<std::string>> picture_files(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const Input& input : pictures_of(inputs)) {
    if (input.error) return *input.error;
    files.push_back(input.file);
  }
  return files;
}

Result<std::optional<Pages>> known_texts(const std::string& path,
                                         const std::vector<std::string>& inputs) {
  std::string file = path;
  std::error_code unknown;
  if (file.empty() && inputs.size() == 1 && fs::is_directory(inputs[0], unknown)) {
    const fs::path beside = fs::path(inputs[0]) / "ground_truth.json";
    if (fs::exists(beside, unknown)) file = beside.string();
  }
  if (file.empty()) return std::optional<Pages>();
  const auto value = json::read_file(file);
  if (!value) return value.error();
  auto pages = pages_of_truth(*value, file);
  if (!pages) return std::move(pages).error();
  return std::optional<Pages>(*std::move(pages));
}

std::string page_text(const OcrPage& page) {
  std::string text;
  for (const OcrLine& line : page.lines) text += line.text + '\n';
  return text;
}

}  // namespace spirkiln::bench
