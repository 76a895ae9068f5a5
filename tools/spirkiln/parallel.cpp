// SPDX-License-Identifier: Apache-2.0
#include "parallel.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

namespace spirkiln::gen {
namespace {

// Address space only; pages are taken when they are touched.
constexpr std::size_t kStackBytes = std::size_t{512} << 20;

struct Loop {
  std::size_t count;
  const std::function<void(std::size_t)>& body;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr thrown;
};

void* work(void* argument) {
  Loop& loop = *static_cast<Loop*>(argument);
  try {
    for (std::size_t i; (i = loop.next.fetch_add(1)) < loop.count;) loop.body(i);
  } catch (...) {
    loop.next = loop.count;
    std::lock_guard lock(loop.mutex);
    if (!loop.thrown) loop.thrown = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void parallel_for(std::size_t count, unsigned threads,
                  const std::function<void(std::size_t)>& body) {
  if (count == 0) return;
  Loop loop{count, body, {}, {}, {}};
  std::vector<pthread_t> running;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const bool large = pthread_attr_setstacksize(&attributes, kStackBytes) == 0;
  const std::size_t wanted = std::min<std::size_t>(std::max(threads, 1u), count);
  for (std::size_t i = 0; i < wanted; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, large ? &attributes : nullptr, work, &loop) != 0) break;
    running.push_back(thread);
  }
  pthread_attr_destroy(&attributes);
  if (running.empty()) work(&loop);  // no threads to be had: here, then
  for (pthread_t thread : running) pthread_join(thread, nullptr);
  if (loop.thrown) std::rethrow_exception(loop.thrown);
}

unsigned processor_count() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return std::max(1u, static_cast<unsigned>(CPU_COUNT(&set)));
  }
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace spirkiln::gen
