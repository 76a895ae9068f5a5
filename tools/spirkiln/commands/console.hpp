// SPDX-License-Identifier: Apache-2.0
// What the commands say, and where.
#pragma once

#include <string_view>

#include "spirkiln/result.hpp"

namespace spirkiln::gen {

// Both say it on standard error and return the exit status 1. Messages about sources carry their
// own position, as compilers write them.
int fail(std::string_view text);
int fail(const Error& error);

// The exit status: a full disk or a closed pipe is an error.
int write_stdout(std::string_view bytes);

// A MessageCallback.
void print_message(Severity severity, std::string_view text);

}  // namespace spirkiln::gen
