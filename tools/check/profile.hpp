// SPDX-License-Identifier: Apache-2.0
// A device profile: what a device that is not here can do, by Vulkan's own names, in a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loader/caps.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln::check {

// How the device moves memory; no query of Vulkan says it. Bytes, and banks of four bytes.
struct MemoryTraits {
  std::uint32_t sector_bytes = 32;
  std::uint32_t line_bytes = 128;
  std::uint32_t shared_banks = 32;
  // How fast, for predictions: all of them, or all 0. 10^9 bytes a second of the whole device.
  std::uint32_t line_rate = 0;    // cache lines of the first level, and workgroup memory
  std::uint32_t cache_rate = 0;   // the last cache before memory
  std::uint32_t cache_bytes = 0;  // its size
  std::uint32_t memory_rate = 0;
  bool operator==(const MemoryTraits&) const = default;
};

struct DeviceProfile {
  std::string path;
  std::vector<std::string> source;   // where the values come from
  std::vector<std::string> assumed;  // keys whose value nobody published
  DeviceCaps caps;                   // as the loader would read that device
  MemoryTraits memory;
};

// `path` is what messages call the text. Errors: kInvalidArgument, one line "file:line:column:
// error: ..." for each mistake, in the order of their places.
Result<DeviceProfile> parse_profile(std::string_view text, const std::string& path);
// Errors: kIo, too.
Result<DeviceProfile> load_profile(const std::string& path);

}  // namespace spirkiln::check
