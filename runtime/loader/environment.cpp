// SPDX-License-Identifier: Apache-2.0
#include "loader/environment.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include "table/printable.hpp"

namespace spirkiln {

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

Result<bool> environment_switch(const char* name) {
  const char* value = environment(name);
  const std::string_view text = value != nullptr ? value : "0";
  if (text == "0" || text == "1") return text == "1";
  return Error{ErrorCode::kInvalidArgument,
               std::string(name) + " is '" + printable(text) + "'; expected 0 or 1"};
}

}  // namespace spirkiln
