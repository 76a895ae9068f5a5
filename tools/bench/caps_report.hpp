// SPDX-License-Identifier: Apache-2.0
// What a device can do, as text for people, as JSON and as a device profile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loader/choose.hpp"

namespace spirkiln::bench {

// A few lines, the first with the device's index and name.
std::string caps_text(std::uint32_t index, const DeviceCaps& caps);

// One JSON array, an object for each device: the tables of a profile, and what follows from them.
std::string caps_json(const std::vector<FoundDevice>& devices);

// As variants/devices/*.toml are.
std::string caps_profile(const DeviceCaps& caps);

}  // namespace spirkiln::bench
