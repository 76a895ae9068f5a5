// SPDX-License-Identifier: Apache-2.0
// Reads pictures with the product's own pipeline, its graphs running on ONNX Runtime. Prints what
// spirkiln-ocr --json prints, so that spirkiln-score can compare them; thresholds can be set, which
// is how they were tuned.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "caching_net.hpp"
#include "ort_net.hpp"
#include "report.hpp"

namespace {

using namespace spirkiln;

bool set_option(OcrOptions& o, const std::string& name, double value) {
  const auto u = static_cast<std::uint32_t>(value);
  const auto f = static_cast<float>(value);
  if (name == "detect_min_side") return o.detect_min_side = u, true;
  if (name == "detect_max_side") return o.detect_max_side = u, true;
  if (name == "detect_max_pixels") return o.detect_max_pixels = u, true;
  if (name == "detect_max_zoom") return o.detect_max_zoom = f, true;
  if (name == "detect_small_text") return o.detect_small_text = f, true;
  if (name == "mask_threshold") return o.mask_threshold = f, true;
  if (name == "box_threshold") return o.box_threshold = f, true;
  if (name == "unclip_ratio") return o.unclip_ratio = f, true;
  if (name == "orient_threshold") return o.orient_threshold = f, true;
  if (name == "retry_score") return o.retry_score = f, true;
  if (name == "margin_x") return o.margin_x = f, true;
  if (name == "margin_y") return o.margin_y = f, true;
  if (name == "text_threshold") return o.text_threshold = f, true;
  if (name == "batch") return o.batch = u, true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Reads pictures with the graphs on ONNX Runtime.");
  std::vector<std::string> files, settings;
  std::string models, serve, cache;
  int threads = 0;
  bool line = false;
  app.add_option("FILES", files)->required();
  app.add_option("--models", models, "folder of the ONNX files")->required();
  app.add_option("--serve", serve, "serve.mjs")->required();
  app.add_option("--cache", cache, "folder in which answers of the graphs are kept");
  app.add_option("--threads", threads);
  app.add_option("--set", settings, "NAME=VALUE of OcrOptions");
  app.add_flag("--rec-only", line);
  CLI11_PARSE(app, argc, argv);

  OcrOptions options;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos ||
        !set_option(options, setting.substr(0, equals), std::atof(setting.c_str() + equals + 1))) {
      fmt::print(stderr, "ort-read: error: no option {}\n", setting);
      return 2;
    }
  }
  auto ort = test::start_ort(serve, models, threads);
  if (!ort.skipped.empty()) {
    fmt::print(stderr, "ort-read: error: {}\n", ort.skipped);
    return 77;
  }
  if (!cache.empty()) ort.nets = test::cached(ort.nets, cache);
  auto dictionary =
      Dictionary::open((std::filesystem::path(models) / "ppocr_keys_v1.txt").string());
  if (!dictionary) {
    fmt::print(stderr, "ort-read: error: {}\n", dictionary.error().message);
    return 1;
  }
  auto reader = OcrReader::create(ort.nets, *dictionary, options);
  int failed = 0;
  fmt::print("{{\"files\": [");
  const char* separator = "\n";
  for (const std::string& file : files) {
    const auto picture = load_picture(file);
    auto page = picture ? (line ? reader->read_line(*picture) : reader->read(*picture))
                        : Result<OcrPage>(picture.error());
    failed += page.ok() ? 0 : 1;
    fmt::print("{}{}", separator, page ? page_json(file, *page) : error_json(file, page.error()));
    separator = ",\n";
    std::fflush(stdout);
  }
  fmt::print("\n]}}\n");
  return failed > 0 ? 1 : 0;
}
