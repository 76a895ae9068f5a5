// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

namespace spirkiln::tool {
namespace {

int why_not_printed = 0;  // errno of the first failure

// A closed standard stream would give its number to the next file that is opened, and text meant
// for the stream would end in that file. Standard output for reading, so that writing to it is an
// error; nobody misses messages where nobody listens.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const int mode = stream == STDERR_FILENO ? O_WRONLY : O_RDONLY;
    if (fcntl(stream, F_GETFD) == -1 && open("/dev/null", mode) == -1) return;
  }
}

int fail(const char* name, const char* text) {
  std::fprintf(stderr, "%s: error: %s\n", name, text);
  return 1;
}

int finish_output(const char* name, int status) {
  flush();
  if (why_not_printed == 0 && std::ferror(stdout) == 0) return status;
  std::fprintf(stderr, "%s: error: cannot write to standard output%s%s\n", name,
               why_not_printed != 0 ? ": " : "",
               why_not_printed != 0 ? std::strerror(why_not_printed) : "");
  return status != 0 ? status : 1;
}

}  // namespace

void print(std::string_view bytes) {
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() && why_not_printed == 0) {
    why_not_printed = errno;
  }
}

void flush() {
  errno = 0;
  if (std::fflush(stdout) != 0 && why_not_printed == 0) why_not_printed = errno;
}

int run_program(const char* name, int (*run)(int argc, char** argv), int argc, char** argv) {
  hold_standard_streams();
#ifdef SIGXFSZ
  ::signal(SIGXFSZ, SIG_IGN);
#endif
  try {
    return finish_output(name, run(argc, argv));
  } catch (const std::bad_alloc&) {
    return fail(name, "out of memory");
  } catch (const std::exception& e) {
    return fail(name, e.what());
  }
}

}  // namespace spirkiln::tool
