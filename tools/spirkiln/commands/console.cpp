// SPDX-License-Identifier: Apache-2.0
#include "console.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace spirkiln::gen {

int fail(std::string_view text) {
  fmt::print(stderr, "spirkiln: error: {}\n", text);
  return 1;
}

int fail(const Error& error) {
  if (error.message.find(": error: ") != std::string::npos) {
    fmt::print(stderr, "{}\n", error.message);
    return 1;
  }
  return fail(error.message);
}

int write_stdout(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() ||
      std::fflush(stdout) != 0) {
    return fail(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
  return 0;
}

void print_message(Severity severity, std::string_view text) {
  if (severity == Severity::kInfo) {
    fmt::print(stderr, "spirkiln: {}\n", text);
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

}  // namespace spirkiln::gen
