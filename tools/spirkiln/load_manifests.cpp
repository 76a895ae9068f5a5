// SPDX-License-Identifier: Apache-2.0
// Which files are manifests, and what may not happen twice in all of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "answer_reader.hpp"
#include "manifest.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

// Of the file that a kernel names, those of the kernel.
Status load_answers(const Manifest& manifest, KernelManifest& kernel, SourceStore& sources) {
  auto file = sources.load(manifest.path.parent_path() / kernel.answers_file);
  if (!file.ok()) {  // where it is named
    Diagnostic d = kernel.answers_position;
    d.text = file.error().message;
    return Error{file.error().code, to_string(d)};
  }
  auto answers = parse_answer_file(**file);
  if (!answers.ok()) return answers.error();
  const std::size_t before = kernel.answers.size();
  for (PlacedAnswer& placed : *answers) {
    if (placed.answer.kernel == kernel.name) kernel.answers.push_back(std::move(placed));
  }
  if (kernel.answers.size() > before) return Ok{};
  Diagnostic d = kernel.answers_position;
  d.text =
      fmt::format("'{}' has no answer of the kernel '{}'", shown(kernel.answers_file), kernel.name);
  return Error{ErrorCode::kInvalidArgument, to_string(d)};
}

}  // namespace

Result<std::vector<Manifest>> load_manifests(const std::vector<fs::path>& inputs,
                                             SourceStore& sources) {
  std::vector<fs::path> files;
  for (const fs::path& input : inputs) {
    std::error_code code;
    if (!fs::is_directory(input, code)) {
      files.push_back(input);
      continue;
    }
    std::vector<fs::path> found;
    for (fs::directory_iterator it(input, code), end; !code && it != end; it.increment(code)) {
      if (it->path().extension() == ".toml") found.push_back(it->path());
    }
    if (code) {
      return Error{ErrorCode::kIo,
                   fmt::format("cannot list '{}': {}", shown(input), code.message())};
    }
    if (found.empty()) {
      return Error{ErrorCode::kIo,
                   fmt::format("no manifest (*.toml) in the folder '{}'", shown(input))};
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  std::vector<Manifest> manifests;
  std::string errors;
  std::map<std::string, Diagnostic> first;
  auto add_error = [&](const std::string& text) {
    if (!errors.empty()) errors += '\n';
    errors += text;
  };
  for (const fs::path& path : files) {
    auto file = sources.load(path);
    if (!file.ok()) {
      add_error(file.error().message);
      continue;
    }
    auto manifest = parse_manifest(**file);
    if (!manifest.ok()) {
      add_error(manifest.error().message);
      continue;
    }
    for (KernelManifest& kernel : manifest->kernels) {
      if (!kernel.answers_file.empty()) {
        if (Status s = load_answers(*manifest, kernel, sources); !s.ok()) {
          add_error(s.error().message);
        }
      }
      auto [it, is_new] = first.try_emplace(kernel.name, kernel.position);
      if (is_new) continue;
      Diagnostic d = kernel.position;
      d.text = fmt::format("a second kernel '{}'; the first is at {}:{}", kernel.name,
                           shown(it->second.file), it->second.line);
      add_error(to_string(d));
    }
    manifests.push_back(std::move(manifest).value());
  }
  if (!errors.empty()) return Error{ErrorCode::kInvalidArgument, errors};
  return manifests;
}

}  // namespace spirkiln::gen
