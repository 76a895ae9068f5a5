// SPDX-License-Identifier: Apache-2.0
// Capabilities written down: as a profile, or piece by piece for other forms of output.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "loader/caps.hpp"
#include "profile.hpp"
#include "profile_keys.hpp"

namespace spirkiln::check {

// One table of a profile; without a name, what stands before the first one.
struct ProfileTable {
  std::string name;
  bool repeated = false;  // one of several, [[name]]
  // By Vulkan's names. The values are text that TOML and JSON read alike.
  std::vector<std::pair<std::string, std::string>> entries;
};
std::vector<ProfileTable> profile_tables(const DeviceCaps& caps);

// parse_profile() of the result gives `profile` again, but for its path and what names one machine
// (the UUIDs). Where a stage and a descriptor set have limits of their own, the smaller stands for
// both.
std::string write_profile(const DeviceProfile& profile);

// The name of a value, else its number.
std::string name_of(std::span<const ValueName> names, std::uint32_t value);

}  // namespace spirkiln::check
