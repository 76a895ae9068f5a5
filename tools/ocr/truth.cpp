// SPDX-License-Identifier: Apache-2.0
#include "truth.hpp"

#include <filesystem>

namespace spirkiln {
namespace {

using Type = json::Value::Type;

Error malformed(const std::string& name, const std::string& expected) {
  return {ErrorCode::kCorrupt, name + ": expected " + expected};
}

// A text, or an object with one.
bool to_line(const json::Value& value, metric::TextLine& out) {
  if (value.type == Type::kString) {
    out.text = value.string;
    return true;
  }
  const json::Value* text = value.find("text");
  if (text == nullptr || text->type != Type::kString) return false;
  out.text = text->string;
  const json::Value* rotation = value.find("rotation");
  if (rotation == nullptr) return true;
  if (rotation->type != Type::kNumber || rotation->number < 0 || rotation->number >= 360)
    return false;
  out.rotation = static_cast<std::uint32_t>(rotation->number);
  return true;
}

}  // namespace

Result<Pages> pages_of_truth(const json::Value& value, const std::string& name) {
  if (value.type != Type::kObject) {
    return malformed(name, "an object of file names, each with an array of lines");
  }
  Pages pages;
  for (const auto& [file, lines] : value.object) {
    if (lines.type != Type::kArray) return malformed(name, "an array of lines for " + file);
    auto& page = pages[file];
    for (const json::Value& line : lines.array) {
      if (!to_line(line, page.emplace_back())) {
        return malformed(name, "lines of " + file +
                                   " as texts, or objects with \"text\" and "
                                   "\"rotation\" (0, 90, 180, 270)");
      }
    }
  }
  return pages;
}

Result<Pages> pages_of_results(const json::Value& value, const std::string& name) {
  const json::Value* files = value.find("files");
  if (files == nullptr || files->type != Type::kArray) {
    return malformed(name, "what spirkiln-ocr --json prints: an object with \"files\"");
  }
  Pages pages;
  for (const json::Value& file : files->array) {
    const json::Value* path = file.find("file");
    if (path == nullptr || path->type != Type::kString) {
      return malformed(name, "\"file\" in each of \"files\"");
    }
    auto& page = pages[std::filesystem::path(path->string).filename().string()];
    const json::Value* lines = file.find("lines");
    if (lines == nullptr) continue;
    for (const json::Value& line : lines->array) {
      if (!to_line(line, page.emplace_back())) {
        return malformed(name, "lines of " + path->string + " with \"text\" and \"rotation\"");
      }
    }
  }
  return pages;
}

}  // namespace spirkiln
