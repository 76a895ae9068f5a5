// SPDX-License-Identifier: Apache-2.0
// The program in a folder of its own, with a kernel 'scale' and its manifest m.toml.
#pragma once

#include <string>

#include "workspace.hpp"

namespace spirkiln::test {

struct Outcome {
  int status;  // -1 where a signal ended it
  std::string out;
  std::string err;
};

struct Shell : Workspace {
  Shell();
  // In a folder below the root; the cache is in the root.
  Outcome run(const std::string& arguments, const std::string& folder = ".") const;
  // A whole line of a shell, in the root, with the program on the PATH.
  Outcome line(const std::string& command) const;
  std::string glsl() const;  // "--glsl FOLDER "
};

}  // namespace spirkiln::test
