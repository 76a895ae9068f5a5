// SPDX-License-Identifier: Apache-2.0
// Which sources the compiler is busy with, and how long it has worked on each.
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
    std::chrono::nanoseconds worked;  // processor time of its thread
  };
  // Of all threads, the longest work first.
  static std::vector<Active> active();

 private:
  std::size_t id_;
};

}  // namespace spirkiln::gen
