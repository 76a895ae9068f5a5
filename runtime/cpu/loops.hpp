// SPDX-License-Identifier: Apache-2.0
// How the backend's own loops are compiled and spread over threads.
#pragma once

#include <cstddef>
#include <exception>
#include <mutex>

#include "cpu/openmp.hpp"
#include "cpu/pool.hpp"

// A function that the compiler makes once for each generation of x86, chosen when it is first
// called. Everything that it calls must be inlined into it.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define SPIRKILN_VECTOR_LOOP \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define SPIRKILN_VECTOR_LOOP
#endif

namespace spirkiln::cpu {

// Values below which waking another thread costs more than it gains.
inline constexpr std::size_t kWorthThreads = 16384;

// How many of `threads` work on so many values is worth while.
inline int worth(std::size_t values, int threads) {
  const std::size_t most = values / kWorthThreads + 1;
  return most < static_cast<std::size_t>(threads) ? static_cast<int>(most) : threads;
}

// Calls f(i, worker) for each i in [0, tasks); workers are numbered below `threads`. The first
// thing that is thrown is thrown again here.
template <typename F>
void each_task(std::size_t tasks, int threads, const F& f) {
  struct Call {
    const F& f;
    std::mutex mutex;
    std::exception_ptr thrown;
  } call{f, {}, {}};
  run_tasks(
      tasks, threads,
      [](const void* argument, std::size_t i, int worker) {
        auto& c = *static_cast<Call*>(const_cast<void*>(argument));
        try {
          c.f(i, worker);
        } catch (...) {
          const std::lock_guard lock(c.mutex);
          c.thrown = std::current_exception();
        }
      },
      &call);
  if (call.thrown) std::rethrow_exception(call.thrown);
}

// Calls f(begin, end) for stretches that together are [0, count). `values` is how much work there
// is: numbers that are read or written.
template <typename F>
void parallel(std::size_t count, std::size_t values, int threads, const F& f) {
  const int workers = worth(values, threads);
  // A few for each, so that one who comes late holds nobody up.
  std::size_t parts = workers > 1 ? static_cast<std::size_t>(workers) * 4 : 1;
  if (parts > count) parts = count;
  if (parts <= 1) {
    if (count > 0) f(std::size_t{0}, count);
    return;
  }
  each_task(parts, workers,
            [&](std::size_t part, int) { f(count * part / parts, count * (part + 1) / parts); });
}

// What oneDNN is made and executed in: it leaves threads to us.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace spirkiln::cpu
