// SPDX-License-Identifier: Apache-2.0
#include "inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

namespace spirkiln {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEndings[] = {".bmp", ".jpeg", ".jpg", ".pbm",  ".pgm", ".png",
                                         ".pnm", ".ppm",  ".tif", ".tiff", ".webp"};

bool is_picture_name(const fs::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return path.filename().native().front() != '.' &&
         std::find(std::begin(kEndings), std::end(kEndings), ending) != std::end(kEndings);
}

std::vector<Input> pictures_in(const std::string& folder) {
  std::vector<Input> out;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    // Whatever is no folder: a link to nothing or a pipe is an error with its name, not silence.
    std::error_code unknown;
    if (is_picture_name(entry->path()) && !entry->is_directory(unknown)) {
      out.push_back({entry->path().string(), std::nullopt});
    }
  }
  if (error) {
    return {{folder, Error{ErrorCode::kIo, folder + ": cannot be listed: " + error.message()}}};
  }
  if (out.empty()) {
    std::string endings;
    for (const std::string_view ending : kEndings) {
      endings += (endings.empty() ? "" : " ") + std::string(ending);
    }
    return {{folder, Error{ErrorCode::kInvalidArgument,
                           folder +
                               ": a folder without a picture; names with these endings are "
                               "looked for, not in folders below: " +
                               endings}}};
  }
  std::sort(out.begin(), out.end(), [](const Input& a, const Input& b) { return a.file < b.file; });
  return out;
}

}  // namespace

std::vector<Input> pictures_of(const std::vector<std::string>& names) {
  std::vector<Input> out;
  for (const std::string& name : names) {
    std::error_code unknown;
    if (name != "-" && fs::is_directory(name, unknown)) {
      for (Input& input : pictures_in(name)) out.push_back(std::move(input));
    } else {
      out.push_back({name, std::nullopt});
    }
  }
  return out;
}

}  // namespace spirkiln
