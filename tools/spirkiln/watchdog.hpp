// SPDX-License-Identifier: Apache-2.0
// Ends the program, with an error, when a source makes the compiler run away: macros that expand
// without end cannot be stopped from outside glslang. Outputs are renamed into place at the very
// end, so nothing half-done is left.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace spirkiln {

class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds time_limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(std::chrono::seconds time_limit);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace spirkiln
