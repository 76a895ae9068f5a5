// SPDX-License-Identifier: Apache-2.0
// Findings that stay, each with a measured reason, in a file that is reviewed.
#pragma once

#include <string>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln::access {

inline constexpr std::size_t kMaxWaivers = 5;

struct Waiver {
  std::string kernel;  // of the manifests; "*": any
  std::vector<std::string> rules;  // "pad-row"; several where one cause has several remedies
  std::string line;    // a part of the text of the kernel's line
  std::string reason;
  bool used = false;
};

// TOML: [[waiver]] with kernel, rule (a string or a list), line and reason. Errors:
// kInvalidArgument "file:line: error:
// ..." for unknown and missing keys, and for more than kMaxWaivers; kIo.
Result<std::vector<Waiver>> load_waivers(const std::string& path);

// The first that covers it, marked as used; null where there is none.
const Waiver* find_waiver(std::vector<Waiver>& waivers, const std::string& kernel,
                          std::string_view rule, std::string_view line);

}  // namespace spirkiln::access
