// SPDX-License-Identifier: Apache-2.0
// Which sources the compiler is busy with, and since when.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace spirkiln::gen {

class WorkScope {
 public:
  explicit WorkScope(const std::string& name);
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

  struct Active {
    std::string name;
    std::chrono::steady_clock::time_point since;
  };
  // Of all threads, oldest first.
  static std::vector<Active> active();

 private:
  std::size_t id_;
};

}  // namespace spirkiln::gen
