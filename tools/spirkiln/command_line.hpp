// SPDX-License-Identifier: Apache-2.0
// From the words of the command line to a command's arguments. The one file that needs CLI11, which
// takes long to compile.
#pragma once

#include <string>
#include <vector>

namespace spirkiln::gen {

// Parses and runs. The exit status: 2 for a wrong command line.
int run_command_line(const std::vector<std::string>& words);

}  // namespace spirkiln::gen
