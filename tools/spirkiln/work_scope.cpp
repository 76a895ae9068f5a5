// SPDX-License-Identifier: Apache-2.0
#include "work_scope.hpp"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace spirkiln::gen {
namespace {

// Of a thread that lives. A loaded machine stretches the time on the wall, not this one.
std::chrono::nanoseconds time_of(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

struct Work {
  std::string name;
  clockid_t clock;
  std::chrono::nanoseconds begin;
};

struct Registry {
  std::mutex mutex;
  std::size_t next = 0;
  std::map<std::size_t, Work> active;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

WorkScope::WorkScope(const std::string& name) {
  clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
  // Never fails for the thread that asks.
  (void)::pthread_getcpuclockid(::pthread_self(), &clock);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  id_ = r.next++;
  r.active.emplace(id_, Work{name, clock, time_of(clock)});
}

WorkScope::~WorkScope() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.active.erase(id_);
}

std::vector<WorkScope::Active> WorkScope::active() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  std::vector<Active> all;
  // While the lock is held, their threads stay in their scopes.
  for (const auto& [id, work] : r.active) {
    all.push_back({work.name, time_of(work.clock) - work.begin});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Active& a, const Active& b) { return a.worked > b.worked; });
  return all;
}

}  // namespace spirkiln::gen
