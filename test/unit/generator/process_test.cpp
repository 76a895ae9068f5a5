// SPDX-License-Identifier: Apache-2.0
// Other programs: fed, read, bounded, and never passed through a shell.
#include "process.hpp"

#include <stdlib.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

gen::ProcessRequest shell(const char* script) {
  gen::ProcessRequest request;
  request.arguments = {"/bin/sh", "-c", script};
  return request;
}

std::string failure(const gen::ProcessRequest& request) {
  const auto outcome = gen::run_process(request);
  REQUIRE_FALSE(outcome.ok());
  return outcome.error().message;
}

}  // namespace

TEST_CASE("process: what goes in comes out, both ways at once", "[process]") {
  std::string input(3 << 20, 'x');
  for (std::size_t i = 0; i < input.size(); i += 7) input[i] = static_cast<char>(i % 256);
  gen::ProcessRequest request;
  request.arguments = {"/bin/cat"};
  request.input = input;
  const auto outcome = gen::run_process(request);
  REQUIRE(outcome.ok());
  CHECK(outcome->status == 0);
  CHECK(outcome->out == input);
  CHECK(outcome->err.empty());
}

TEST_CASE("process: status, both streams, arguments as they are", "[process]") {
  gen::ProcessRequest request = shell("printf '%s|' \"$@\"; printf words >&2; exit 3");
  request.arguments.insert(request.arguments.end(), {"sh", "a b", "$(false)", "'", ""});
  const auto outcome = gen::run_process(request);
  REQUIRE(outcome.ok());
  CHECK(outcome->status == 3);
  CHECK(outcome->out == "a b|$(false)|'||");
  CHECK(outcome->err == "words");
}

TEST_CASE("process: it runs in its folder, without what is preloaded here", "[process]") {
  ::setenv("LD_SPIRKILN_TEST", "1", 1);
  ::setenv("SPIRKILN_PROCESS_TEST", "kept", 1);
  gen::ProcessRequest request = shell("pwd; env");
  request.folder = "/usr";
  const auto outcome = gen::run_process(request);
  ::unsetenv("LD_SPIRKILN_TEST");
  ::unsetenv("SPIRKILN_PROCESS_TEST");
  REQUIRE(outcome.ok());
  CHECK(outcome->out.starts_with("/usr\n"));
  CHECK_THAT(outcome->out, ContainsSubstring("SPIRKILN_PROCESS_TEST=kept\n"));
  CHECK_THAT(outcome->out, !ContainsSubstring("LD_SPIRKILN_TEST"));
}

TEST_CASE("process: one that does not read its input is no trouble", "[process]") {
  const std::string input(8 << 20, 'x');
  gen::ProcessRequest request = shell("exit 4");
  request.input = input;
  const auto outcome = gen::run_process(request);
  REQUIRE(outcome.ok());
  CHECK(outcome->status == 4);
}

TEST_CASE("process: neither time nor output is without end", "[process]") {
  using std::chrono::milliseconds;
  gen::ProcessRequest request = shell("sleep 60");
  request.time_limit = milliseconds(50);
  CHECK_THAT(failure(request), ContainsSubstring("'/bin/sh': still ran after 50 ms"));
  request = shell("exec >&- 2>&-; sleep 60");  // closes its streams, and stays
  request.time_limit = milliseconds(50);
  CHECK_THAT(failure(request), ContainsSubstring("still ran after 50 ms"));
  request = shell("while :; do echo again; done");
  request.max_output = 100000;
  CHECK_THAT(failure(request), ContainsSubstring("wrote more than 100000 bytes"));
  request = shell("while :; do echo again >&2; done");
  request.max_output = 100000;
  CHECK_THAT(failure(request), ContainsSubstring("wrote more than 100000 bytes"));
}

TEST_CASE("process: one that cannot start or is killed is an error that names it", "[process]") {
  gen::ProcessRequest request;
  request.arguments = {"bin/none"};
  request.folder = "/usr";
  CHECK_THAT(failure(request), ContainsSubstring("'/usr/bin/none': cannot be started: No such"));
  CHECK_THAT(failure(shell("kill -9 $$")), ContainsSubstring("'/bin/sh': ended by signal 9"));
}
