// SPDX-License-Identifier: Apache-2.0
#include "watchdog.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "shown.hpp"
#include "work_scope.hpp"

namespace spirkiln {
namespace {

// The largest bake of real kernels stays under a tenth of it.
constexpr std::uint64_t kMaxResidentBytes = std::uint64_t{4} << 30;

std::uint64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long long total = 0;
  unsigned long long resident = 0;
  const int read = std::fscanf(file, "%llu %llu", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

[[noreturn]] void end(const std::string& text) {
  fmt::print(stderr, "{}\n", text);
  std::fflush(stderr);
  std::_Exit(1);
}

}  // namespace

Watchdog::Watchdog(std::chrono::seconds time_limit) {
  try {
    thread_ = std::thread([this, time_limit] { watch(time_limit); });
  } catch (const std::system_error& e) {
    throw std::runtime_error(fmt::format(
        "cannot start a thread: {}; too many processes (ulimit -u)?", e.code().message()));
  }
}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Watchdog::watch(std::chrono::seconds time_limit) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::milliseconds(50), [this] { return stop_; })) {
    const auto active = gen::WorkScope::active();
    if (active.empty()) continue;
    const auto& longest = active.front();
    if (longest.worked > time_limit) {
      end(
          fmt::format("{}: error: still compiling after {} s of processor time; given up "
                      "(--time-limit)",
                      tool::shown(longest.name), time_limit.count()));
    }
    if (resident_bytes() > kMaxResidentBytes) {
      std::string names;
      for (const auto& work : active) {
        names += names.empty() ? "" : ", ";
        names += tool::shown(work.name);
      }
      end(fmt::format("{}: error: compiling takes more than {} GiB of memory; given up", names,
                      kMaxResidentBytes >> 30));
    }
  }
}

}  // namespace spirkiln
