// SPDX-License-Identifier: Apache-2.0
#include "work_scope.hpp"

#include <map>
#include <mutex>

namespace spirkiln::gen {
namespace {

struct Registry {
  std::mutex mutex;
  std::size_t next = 0;
  std::map<std::size_t, WorkScope::Active> active;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

WorkScope::WorkScope(const std::string& name) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  id_ = r.next++;
  r.active.emplace(id_, Active{name, std::chrono::steady_clock::now()});
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
  for (const auto& [id, work] : r.active) all.push_back(work);
  return all;
}

}  // namespace spirkiln::gen
