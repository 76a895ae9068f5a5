// SPDX-License-Identifier: Apache-2.0
// Capabilities of SPIR-V by the names of the specification.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spirkiln::gen {

// "Shader", "Float16", ...; the number where no name is known here.
std::string capability_name(std::uint32_t capability);
std::optional<std::uint32_t> capability_from_name(std::string_view name);
// All that are known here.
std::vector<std::string_view> capability_names();

}  // namespace spirkiln::gen
