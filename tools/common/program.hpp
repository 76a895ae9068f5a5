// SPDX-License-Identifier: Apache-2.0
// What every program does around its work, in one place.
#pragma once

#include <string_view>

namespace spirkiln::tool {

// Calls `run` and gives the exit status: run's own, or 1 where it threw or where what it printed
// did not reach its reader (a full disk, a closed stream); `name` begins the message.
//
// Writing beyond `ulimit -f` is an error of that write instead of the end of the process, so
// outputs keep their promise. The end of a reader of standard output (`spirkiln list T | head`)
// ends the process silently, as it does for other tools.
int run_program(const char* name, int (*run)(int argc, char** argv), int argc, char** argv);

// Prints to standard output; run_program() says why it failed.
void print(std::string_view bytes);
// What was printed goes out now.
void flush();

}  // namespace spirkiln::tool
