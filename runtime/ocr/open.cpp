// SPDX-License-Identifier: Apache-2.0
// A reader from a folder of packs.
#if !defined(_WIN32)
#include <dlfcn.h>
#endif

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "spirkiln/ocr.hpp"

namespace spirkiln {
namespace {

namespace fs = std::filesystem;

// `channels` is what the pipeline takes from the graph, `because` says in a message why: a pack of
// another task or language would else fail at the first line that is read, or read nonsense.
Result<std::shared_ptr<Net>> open_net(const fs::path& file, const Device& device,
                                      const GraphOptions& options, std::size_t channels,
                                      const std::string& because) {
  auto model = Model::open(file.string());
  if (!model) return std::move(model).error();
  auto graph = Graph::create(device, *model, options);
  if (!graph) return std::move(graph).error();
  const auto given = graph->output_channels();
  if (given.empty() || given[0] != channels) {
    return Error{ErrorCode::kCorrupt, file.string() + ": the graph's output has " +
                                          (given.empty() ? "no" : std::to_string(given[0])) +
                                          " channels, expected " + std::to_string(channels) + " (" +
                                          because + ")"};
  }
  return make_net(std::move(*graph), options.best_class, options.bytes);
}

// share/spirkiln of the tree that this library is installed in, empty outside of one. lib may have
// a folder for the architecture below it.
fs::path installed_packs() {
#if !defined(_WIN32)
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&default_packs_folder), &info) == 0 ||
      info.dli_fname == nullptr) {
    return {};
  }
  std::error_code failed;
  const fs::path lib = fs::canonical(info.dli_fname, failed).parent_path();
  if (failed) return {};
  for (const fs::path& prefix : {lib.parent_path(), lib.parent_path().parent_path()}) {
    fs::path packs = prefix / "share" / "spirkiln";
    if (fs::exists(packs / "det.spkm", failed)) return packs;
  }
#endif
  return {};
}

}  // namespace

Result<OcrReader> OcrReader::open(const std::string& folder, const Device& device,
                                  const GraphOptions& graph_options, const OcrOptions& options) {
  const fs::path root(folder);
  const std::string keys = (root / "ppocr_keys_v1.txt").string();
  auto dictionary = Dictionary::open(keys);
  if (!dictionary) return std::move(dictionary).error();
  GraphOptions of_pictures = graph_options;
  of_pictures.bytes = true;  // a mask and means of probabilities are wanted
  auto detect = open_net(root / "det.spkm", device, of_pictures, 1, "how likely a pixel is text");
  if (!detect) return std::move(detect).error();
  auto orient = open_net(root / "cls.spkm", device, graph_options, 2, "upright, upside-down");
  if (!orient) return std::move(orient).error();
  const std::size_t classes = dictionary->classes();
  GraphOptions of_lines = graph_options;
  of_lines.best_class = true;  // of 6625 probabilities a step, the pipeline wants one
  auto recognise = open_net(root / "rec.spkm", device, of_lines, classes,
                            "the " + std::to_string(classes - 2) + " characters of " + keys +
                                ", the blank and the space; take both from one model package");
  if (!recognise) return std::move(recognise).error();
  // A CPU driver compiles on the cores that detection wants.
  const bool prepare = device.info().backend == "vulkan" && device.info().type != "cpu";
  return make({*detect, *orient, *recognise}, std::move(*dictionary), options, prepare);
}

std::string default_packs_folder() {
  const auto set = [](const char* name) -> const char* {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  };
  if (const char* models = set("SPIRKILN_MODELS")) return models;
  if (const fs::path shared = installed_packs(); !shared.empty()) return shared.string();
  if (const char* cache = set("SPIRKILN_CACHE")) return (fs::path(cache) / "packs").string();
  if (const char* cache = set("XDG_CACHE_HOME")) {
    return (fs::path(cache) / "spirkiln" / "packs").string();
  }
  const char* home = set("HOME");
  return (fs::path(home != nullptr ? home : ".") / ".cache" / "spirkiln" / "packs").string();
}

}  // namespace spirkiln
