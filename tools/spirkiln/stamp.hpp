// SPDX-License-Identifier: Apache-2.0
// What the last bake read and wrote, so that the next one can tell that nothing changed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "files.hpp"

namespace spirkiln::gen {

struct StampContent {
  std::string settings;  // one line: whatever else the outputs depend on
  std::vector<SourceStore::Opened> inputs;
  std::vector<std::pair<std::filesystem::path, std::uint64_t>> outputs;  // hash of each
};

std::string encode_stamp(const StampContent& content);

// Whether the stamp at `path` was written with the same settings and all that it names is as it
// was then.
bool stamp_holds(const std::filesystem::path& path, const std::string& settings);

}  // namespace spirkiln::gen
