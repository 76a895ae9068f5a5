// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

extern char** environ;

namespace spirkiln::gen {
namespace {

constexpr rlim_t kMaxMemory = rlim_t{4} << 30;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void reset(int fd) {
    close();
    fd_ = fd;
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

// A stream to or from the program: our end does not block. Sockets, since a write to one that
// nobody reads any more is an error and no signal.
struct Stream {
  Descriptor here;
  Descriptor there;
  bool make() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    here.reset(ends[0]);
    const Descriptor low(ends[1]);
    // Above the three that it is copied to, should one of those be closed here.
    there.reset(::fcntl(low.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    return there.open() && ::fcntl(here.get(), F_SETFL, O_NONBLOCK) == 0;
  }
};

struct Attributes {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  Attributes() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("LD_")) all.emplace_back(*entry);
  }
  return all;
}

// Should this process end first (its watchdog does not ask), then the other one ends by itself.
void bound(pid_t pid, std::chrono::milliseconds time_limit) {
#ifdef __linux__
  const rlimit memory{kMaxMemory, kMaxMemory};
  const auto seconds = static_cast<rlim_t>(time_limit.count() / 1000 + 1);
  const rlimit time{seconds, seconds};
  ::prlimit(pid, RLIMIT_AS, &memory, nullptr);
  ::prlimit(pid, RLIMIT_CPU, &time, nullptr);
#else
  (void)pid;
  (void)time_limit;
#endif
}

// Reads what is there; closes the stream at its end. False: more than `most` bytes.
bool read_some(Descriptor& from, std::string& to, std::size_t most) {
  char bytes[65536];
  const ssize_t count = ::recv(from.get(), bytes, sizeof bytes, 0);
  if (count > 0) {
    to.append(bytes, static_cast<std::size_t>(count));
    return to.size() <= most;
  }
  if (count == 0 || (errno != EAGAIN && errno != EINTR)) from.close();
  return true;
}

void write_some(Descriptor& to, std::string_view& rest) {
  const ssize_t count = ::send(to.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
  if (count >= 0) rest.remove_prefix(static_cast<std::size_t>(count));
  // A program that stops reading says why in its own words.
  const bool failed = count < 0 && errno != EAGAIN && errno != EINTR;
  if (failed || rest.empty()) to.close();
}

using Time = std::chrono::steady_clock::time_point;

std::string too_late(const ProcessRequest& request) {
  return fmt::format("still ran after {} ms", request.time_limit.count());
}

// What kept the program from being talked to until it closed its streams, or nothing.
std::string talk(const ProcessRequest& request, Time end, Stream& in, Stream& out, Stream& err,
                 ProcessOutcome& outcome) {
  std::string_view rest = request.input;
  if (rest.empty()) in.here.close();
  while (out.here.open() || err.here.open()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return too_late(request);
    pollfd waits[] = {{in.here.get(), POLLOUT, 0},
                      {out.here.get(), POLLIN, 0},
                      {err.here.get(), POLLIN, 0}};  // poll passes over those that are -1
    if (::poll(waits, 3, static_cast<int>(left.count()) + 1) < 0 && errno != EINTR) {
      return std::strerror(errno);
    }
    if (waits[0].revents != 0) write_some(in.here, rest);
    if ((waits[1].revents != 0 && !read_some(out.here, outcome.out, request.max_output)) ||
        (waits[2].revents != 0 && !read_some(err.here, outcome.err, request.max_output))) {
      return fmt::format("wrote more than {} bytes", request.max_output);
    }
  }
  return {};
}

// False: it did not end in time.
bool wait_for(pid_t pid, Time end, int* status) {
  for (;;) {
    const pid_t ended = ::waitpid(pid, status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return true;
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

Result<ProcessOutcome> run_process(const ProcessRequest& request) {
  const std::string program = (request.folder / request.arguments.front()).string();
  const auto fail = [&](std::string_view what) {
    return Error{ErrorCode::kIo, fmt::format("'{}': {}", program, what)};
  };
  Stream in, out, err;
  if (!in.make() || !out.make() || !err.make()) return fail(std::strerror(errno));
  Attributes spawn;
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&spawn.attributes, &none);
  posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_adddup2(&spawn.actions, in.there.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&spawn.actions, out.there.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&spawn.actions, err.there.get(), STDERR_FILENO);
  if (!request.folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&spawn.actions, request.folder.c_str());
  }
  std::vector<std::string> arguments = request.arguments;
  std::vector<std::string> variables = environment();
  pid_t pid = -1;
  const int started =
      ::posix_spawn(&pid, arguments.front().c_str(), &spawn.actions, &spawn.attributes,
                    pointers(arguments).data(), pointers(variables).data());
  if (started != 0) return fail(fmt::format("cannot be started: {}", std::strerror(started)));
  bound(pid, request.time_limit);
  in.there.close();
  out.there.close();
  err.there.close();

  ProcessOutcome outcome;
  const Time end = std::chrono::steady_clock::now() + request.time_limit;
  std::string trouble = talk(request, end, in, out, err, outcome);
  int status = 0;
  if (trouble.empty() && !wait_for(pid, end, &status)) trouble = too_late(request);
  if (!trouble.empty()) {
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (!trouble.empty()) return fail(trouble + "; ended");
  if (WIFSIGNALED(status)) return fail(fmt::format("ended by signal {}", WTERMSIG(status)));
  outcome.status = WEXITSTATUS(status);
  return outcome;
}

}  // namespace spirkiln::gen
