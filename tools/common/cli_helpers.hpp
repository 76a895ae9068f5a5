// SPDX-License-Identifier: Apache-2.0
// What the programs' command lines have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>

#include "program.hpp"

namespace spirkiln::tool {

// A check for options and arguments that name files. An empty name is a mistake of a script
// ("$file" that was never set), and no name of anything.
inline const CLI::Validator& not_empty() {
  static const CLI::Validator validator(
      [](const std::string& name) {
        return name.empty() ? std::string("an empty name names no file") : std::string();
      },
      "", "not empty");
  return validator;
}

// What parsing ended with that is no mistake: --help and --version. Through print(), so that a full
// disk is seen and its cause known.
inline int print_help(const CLI::App& app, const CLI::ParseError& asked) {
  std::ostringstream out;
  const int status = app.exit(asked, out, out);
  print(out.str());
  return status;
}

}  // namespace spirkiln::tool
