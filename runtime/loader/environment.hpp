// SPDX-License-Identifier: Apache-2.0
// Variables of the environment.
#pragma once

#include "spirkiln/result.hpp"

namespace spirkiln {

// Null where it is not set, or empty.
const char* environment(const char* name);

// "1": true; "0", empty or not set: false. Errors: kInvalidArgument for anything else, naming the
// variable.
Result<bool> environment_switch(const char* name);

}  // namespace spirkiln
