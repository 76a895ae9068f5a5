// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "json.hpp"
#include "report.hpp"

namespace spirkiln {

std::string page_json(const std::string& file, const OcrPage& page) {
  std::string out =
      fmt::format(R"({{"file": {}, "width": {}, "height": {}, "ms": {:.1f}, "lines": [)",
                  json::quoted(file), page.width, page.height, page.timings.total);
  const char* separator = "\n";
  for (const OcrLine& line : page.lines) {
    out += fmt::format(R"({}  {{"text": {}, "score": {:.4f}, "box": [)", separator,
                       json::quoted(line.text), line.score);
    for (std::size_t i = 0; i < 4; ++i) {
      out += fmt::format("{}[{:.1f}, {:.1f}]", i == 0 ? "" : ", ", line.box[i].x, line.box[i].y);
    }
    out += fmt::format(R"(], "box_score": {:.4f}, "angle": {:.1f}, "rotation": {}}})",
                       line.box_score, line.angle, line.rotation);
    separator = ",\n";
  }
  return out + "]}";
}

std::string error_json(const std::string& file, const Error& error) {
  return fmt::format(R"({{"file": {}, "error": {}}})", json::quoted(file),
                     json::quoted(error.message));
}

}  // namespace spirkiln
