// SPDX-License-Identifier: Apache-2.0
// The program. command_line.cpp says what its words mean, commands/ what is done then; the work is
// in the library.
#include <fmt/format.h>

#include <cstdio>

#include "command_line.hpp"
#include "commands/commands.hpp"
#include "program.hpp"
#include "response_file.hpp"

namespace {
using namespace spirkiln::gen;

int run(int argc, char** argv) {
  const auto words = expand_response_files({argv + 1, argv + argc});
  if (!words.ok()) {
    fmt::print(stderr, "spirkiln: error: {}\n", words.error().message);
    return 2;
  }
  if (const auto status = start_other(*words)) return *status;
  return run_command_line(*words);
}

}  // namespace

int main(int argc, char** argv) { return spirkiln::tool::run_program("spirkiln", run, argc, argv); }
