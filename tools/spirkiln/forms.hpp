// SPDX-License-Identifier: Apache-2.0
// The dialect's own variants: their names and the macros that each defines.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spirkiln/table_format.hpp"

namespace spirkiln::gen {

inline constexpr std::string_view kProfile2023 = "ncnn-2023";
inline constexpr std::string_view kProfile2026 = "ncnn-2026";

struct Form {
  table::Storage storage = table::Storage::kFp32;
  table::Arithmetic arithmetic = table::Arithmetic::kFp32;
  table::Resource resource = table::Resource::kBuffer;
  std::vector<std::pair<std::string, std::string>> macros;  // the profile's own among them
};

// Names in the order of the documentation. Empty for an unknown profile.
std::vector<std::string_view> form_names(std::string_view profile);

// Nothing for a name that the profile does not have.
std::optional<Form> find_form(std::string_view profile, std::string_view name);

}  // namespace spirkiln::gen
