// SPDX-License-Identifier: Apache-2.0
// What the commands say, and where.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "spirkiln/result.hpp"
#include "table/table.hpp"

namespace spirkiln::gen {

// Both say it on standard error and return the exit status 1. Messages about sources carry their
// own position, as compilers write them.
int fail(std::string_view text);
int fail(const Error& error);

// The exit status 0: run_program() looks whether it arrived.
int write_stdout(std::string_view bytes);

// For commands with one output; "-" is standard output. First whether it may be written: nothing of
// `inputs` is written over. Then the exit status.
Status check_single_output(const std::string& output,
                           const std::vector<std::filesystem::path>& inputs);
int write_single_output(const std::string& output, std::string_view bytes);

// As Table::from_file(), with the name in a message as messages show names.
Result<Table> open_table_file(const std::string& path);

// How far a long bake is, on standard error where that is a terminal and after a moment: one line,
// which is gone at the end.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(std::size_t done, std::size_t all);

 private:
  void clear();
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

// A MessageCallback.
void print_message(Severity severity, std::string_view text);

}  // namespace spirkiln::gen
