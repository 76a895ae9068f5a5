// SPDX-License-Identifier: Apache-2.0
// A test that may hang fails instead.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace spirkiln::test {

// Ends the process, with `what` on stderr, where it lives for longer than this.
class Watchdog {
 public:
  explicit Watchdog(std::string what, std::chrono::seconds patience = std::chrono::seconds(120))
      : thread_([this, what = std::move(what), patience] {
          std::unique_lock lock(mutex_);
          if (done_.wait_for(lock, patience, [this] { return over_; })) return;
          std::fprintf(stderr, "hangs: %s\n", what.c_str());
          std::_Exit(1);
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    done_.notify_one();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace spirkiln::test
