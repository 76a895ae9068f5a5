// SPDX-License-Identifier: Apache-2.0
// Arguments from files: build systems write them where a command line would grow too long.
#pragma once

#include <string>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln::gen {

// Every argument `@FILE` is replaced by the arguments in that file, and so are those in it. They
// are separated by white space; between ' or " it belongs to an argument, and a backslash takes the
// next character as it is, anywhere (GCC's rules). A file whose name begins with @ is written
// ./@name. Errors name the file and the line. No output of this process may replace such a file.
Result<std::vector<std::string>> expand_response_files(const std::vector<std::string>& arguments);

}  // namespace spirkiln::gen
