// SPDX-License-Identifier: Apache-2.0
// Preloaded into the program: the system call named by SPIRKILN_FAULT ("rename 2 28": the second
// rename fails with that errno; 0 kills the process instead) fails on a temporary file. With
// SPIRKILN_THREADS=N no process can be started, and no more than N threads.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

std::atomic<int> calls{0};

bool fails(const char* call) {
  const char* wish = std::getenv("SPIRKILN_FAULT");
  char name[16] = {};
  int nth = 0;
  int error = 0;
  if (wish == nullptr || std::sscanf(wish, "%15s %d %d", name, &nth, &error) != 3) return false;
  if (std::strcmp(name, call) != 0 || ++calls != nth) return false;
  if (error == 0) ::kill(::getpid(), SIGKILL);
  errno = error;
  return true;
}

std::atomic<int> threads{0};

bool is_limited() { return std::getenv("SPIRKILN_THREADS") != nullptr; }

bool is_temporary(std::string_view path) { return path.ends_with(".tmp"); }

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int rename(const char* from, const char* to) noexcept {
  if (is_temporary(from) && fails("rename")) return -1;
  return next<int(const char*, const char*)>("rename")(from, to);
}

extern "C" int link(const char* from, const char* to) noexcept {
  if (is_temporary(to) && fails("link")) return -1;
  return next<int(const char*, const char*)>("link")(from, to);
}

extern "C" ssize_t write(int fd, const void* data, std::size_t size) {
  char name[64];
  char path[4096];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(name, path, sizeof path);
  if (length > 0 && is_temporary({path, static_cast<std::size_t>(length)}) && fails("write")) {
    return -1;
  }
  return next<ssize_t(int, const void*, std::size_t)>("write")(fd, data, size);
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) noexcept {
  if (is_limited() && ++threads > std::atoi(std::getenv("SPIRKILN_THREADS"))) return EAGAIN;
  return next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create")(
      thread, attributes, start, argument);
}

extern "C" pid_t fork() noexcept {
  if (is_limited()) {
    errno = EAGAIN;
    return -1;
  }
  return next<pid_t()>("fork")();
}

extern "C" int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const* arguments,
                           char* const* environment) noexcept {
  if (is_limited()) return EAGAIN;
  return next<int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  char* const*, char* const*)>("posix_spawn")(pid, path, actions, attributes,
                                                              arguments, environment);
}
