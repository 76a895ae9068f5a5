// SPDX-License-Identifier: Apache-2.0
// Known texts and read texts, out of their JSON files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "json.hpp"
#include "metric.hpp"

namespace spirkiln {

using Pages = std::map<std::string, std::vector<metric::TextLine>>;  // by file name, folders off

// {"name.png": ["text", {"text": "text", "rotation": 90}, ...], ...}
Result<Pages> pages_of_truth(const json::Value& value, const std::string& name);
// What spirkiln-ocr --json prints. A file that could not be read has no lines.
Result<Pages> pages_of_results(const json::Value& value, const std::string& name);

}  // namespace spirkiln
