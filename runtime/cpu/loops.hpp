// SPDX-License-Identifier: Apache-2.0
// How the backend's own loops are compiled and spread over threads. oneDNN of this build runs on
// OpenMP, so these do as well: two pools would fight for the cores.
#pragma once

#include <omp.h>

#include <cstddef>
#include <functional>
#include <vector>

// A function that the compiler makes once for each generation of x86, chosen when it is first
// called. Everything that it calls must be inlined into it.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define SPIRKILN_VECTOR_LOOP \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define SPIRKILN_VECTOR_LOOP
#endif

namespace spirkiln::cpu {

// Values below which waking the other threads costs more than it gains.
inline constexpr std::size_t kWorthThreads = 16384;

// Calls f(begin, end) for stretches that together are [0, count). `values` is how much work there
// is: numbers that are read or written.
template <typename F>
void parallel(std::size_t count, std::size_t values, const F& f) {
  const auto most = static_cast<std::size_t>(omp_get_max_threads());
  std::size_t threads = values / kWorthThreads + 1;
  if (threads > most) threads = most;
  if (threads > count) threads = count;
  if (threads <= 1) {
    if (count > 0) f(std::size_t{0}, count);
    return;
  }
#pragma omp parallel for num_threads(static_cast<int>(threads)) schedule(static, 1)
  for (std::size_t t = 0; t < threads; ++t) {
    f(count * t / threads, count * (t + 1) / threads);
  }
}

// The same for work that may throw, in `ranges` stretches of [0, count) that begin at multiples of
// `grain`; f(range, begin, end).
std::vector<std::size_t> ranges_of(std::size_t count, std::size_t grain, std::size_t ranges);
void parallel_ranges(
    const std::vector<std::size_t>& bounds,
    const std::function<void(std::size_t range, std::size_t begin, std::size_t end)>& f);

// The calling thread's OpenMP and oneDNN use this many threads until the end of the scope.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ThreadScope() { omp_set_num_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

}  // namespace spirkiln::cpu
