// SPDX-License-Identifier: Apache-2.0
// The pictures that a command line names, folders opened.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln {

struct Input {
  std::string file;            // "-": standard input
  std::optional<Error> error;  // why a folder gives no picture
};

// A folder stands for the pictures right in it, told by their endings and sorted by name as bytes;
// names that begin with a dot are left out. All other names stay as they are, there or not.
std::vector<Input> pictures_of(const std::vector<std::string>& names);

}  // namespace spirkiln
