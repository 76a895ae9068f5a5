// SPDX-License-Identifier: Apache-2.0
#include "thermal.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace spirkiln::bench {

namespace fs = std::filesystem;

std::vector<ThermalZone> thermal_zones(const std::string& root) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with("thermal_zone")) {
      folders.push_back(entry->path());
    }
  }
  std::sort(folders.begin(), folders.end());
  std::vector<ThermalZone> zones;
  for (const fs::path& folder : folders) {
    long millidegrees = 0;
    if (!(std::ifstream(folder / "temp") >> millidegrees)) continue;
    ThermalZone zone;
    if (!std::getline(std::ifstream(folder / "type"), zone.name) || zone.name.empty()) {
      zone.name = folder.filename().string();
    }
    zone.celsius = static_cast<double>(millidegrees) / 1000;
    zones.push_back(std::move(zone));
  }
  return zones;
}

}  // namespace spirkiln::bench
