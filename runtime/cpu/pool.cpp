// SPDX-License-Identifier: Apache-2.0
#include "cpu/pool.hpp"

#ifndef _WIN32
#include <pthread.h>
#endif

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "cpu/openmp.hpp"

namespace spirkiln::cpu {
namespace {

// How often one looks before one sleeps: some 50 us, more than there is between two steps of a
// plan, and little where another process wants the core.
constexpr int kLooks = 2000;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

struct Job {
  void (*task)(const void* argument, std::size_t i, int worker) = nullptr;
  const void* argument = nullptr;
  std::size_t tasks = 0;
  std::atomic<std::size_t> next{0};

  void work(int worker) {
    for (std::size_t i = next.fetch_add(1, std::memory_order_relaxed); i < tasks;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      task(argument, i, worker);
    }
  }
};

class Pool {
 public:
  static Pool& instance() {
    // No destructor: its threads run until the process ends.
    static Pool& pool = []() -> Pool& {
      Pool& made = *new Pool;
#ifndef _WIN32
      // A child of fork() has none of the threads, and makes its own when it wants them.
      pthread_atfork([] { Pool::instance().lock_all(); }, [] { Pool::instance().unlock_all(); },
                     [] {
                       Pool::instance().started_ = 0;
                       Pool::instance().unlock_all();
                     });
#endif
      return made;
    }();
    return pool;
  }

  void run(Job& job, int threads) {
    const std::unique_lock<std::mutex> caller(callers_, std::try_to_lock);
    if (!caller.owns_lock()) return job.work(0);
    start(threads - 1);
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      wanted_ = threads - 1;
      calls_.fetch_add(1, std::memory_order_release);
    }
    calls_.notify_all();
    job.work(0);
    // From here on nobody joins; who has joined is waited for.
    std::unique_lock lock(mutex_);
    job_ = nullptr;
    for (int look = 0; inside_ > 0 && look < kLooks; ++look) {
      lock.unlock();
      pause();
      lock.lock();
    }
    left_.wait(lock, [&] { return inside_ == 0; });
  }

 private:
  void lock_all() {
    callers_.lock();
    mutex_.lock();
  }
  void unlock_all() {
    mutex_.unlock();
    callers_.unlock();
  }

  void start(int count) {
    while (started_ < count) {
      try {
        // Never joined: the pool lasts as long as the process.
        std::thread([this, worker = started_ + 1] { serve(worker); }).detach();
      } catch (const std::system_error&) {
        return;  // fewer threads do it, too
      }
      ++started_;
    }
  }

  void serve(int worker) {
    omp_set_num_threads(1);  // what oneDNN looks at
    int seen = 0;
    for (;;) {
      for (int look = 0; look < kLooks && calls_.load(std::memory_order_acquire) == seen; ++look) {
        pause();
      }
      calls_.wait(seen, std::memory_order_acquire);
      std::unique_lock lock(mutex_);
      seen = calls_.load(std::memory_order_relaxed);
      // By number, so that a worker's number is below the threads that were asked for.
      if (job_ == nullptr || worker > wanted_) continue;
      Job& job = *job_;
      ++inside_;
      lock.unlock();
      job.work(worker);
      lock.lock();
      if (--inside_ == 0) left_.notify_one();
    }
  }

  std::mutex callers_;  // held by the one whose job this is
  int started_ = 0;     // under callers_

  std::mutex mutex_;
  std::condition_variable left_;
  Job* job_ = nullptr;
  int wanted_ = 0, inside_ = 0;
  std::atomic<int> calls_{0};  // jobs so far: what workers wait on
};

}  // namespace

void run_tasks(std::size_t tasks, int threads,
               void (*task)(const void* argument, std::size_t i, int worker),
               const void* argument) {
  Job job;
  job.task = task;
  job.argument = argument;
  job.tasks = tasks;
  if (threads <= 1 || tasks <= 1) return job.work(0);
  Pool::instance().run(job, threads);
}

}  // namespace spirkiln::cpu
