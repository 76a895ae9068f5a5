// SPDX-License-Identifier: Apache-2.0
// What selection goes by on a device: the table's quirks, and the wishes of options and the
// environment.
#pragma once

#include <string>

#include "loader/device.hpp"
#include "table/select.hpp"
#include "table/wishes.hpp"

namespace spirkiln {

// A wish is the option's, else what the environment says. `options` is what messages call their
// struct.
struct UserWishes {
  std::string axes, kernels, avoid;
  const char* options = "GraphOptions";
};

// Known are the names of `table`, of the built-in one (or $SPIRKILN_TABLE) and of those that the
// device was opened for: a program's wishes may be about any of its tables. Errors: as
// parse_wishes() and select_rules().
Result<SelectRules> user_rules(const Device::State& device, const Table& table,
                               const UserWishes& wishes);

}  // namespace spirkiln
