// SPDX-License-Identifier: Apache-2.0
// Another program, started without a shell, fed and read through pipes, and never waited for
// without an end.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln::gen {

struct ProcessRequest {
  std::vector<std::string> arguments;  // the first one is the program's path
  std::filesystem::path folder;        // where it runs; a relative program path begins there
  std::string_view input;              // its standard input
  std::chrono::milliseconds time_limit{60000};
  std::size_t max_output = std::size_t{64} << 20;  // bytes of either stream
};

struct ProcessOutcome {
  int status = 0;  // the exit status
  std::string out;
  std::string err;
};

// From any thread. The program's environment is this one's without LD_*: what is preloaded here
// need not fit there. Errors: kIo where it cannot be started, a signal ended it (memory above 4 GiB
// among the reasons), it ran past its time or wrote too much; each names the program.
Result<ProcessOutcome> run_process(const ProcessRequest& request);

}  // namespace spirkiln::gen
