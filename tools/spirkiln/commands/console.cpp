// SPDX-License-Identifier: Apache-2.0
#include "console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "output_set.hpp"
#include "program.hpp"
#include "shown.hpp"

namespace spirkiln::gen {

int fail(std::string_view text) {
  fmt::print(stderr, "spirkiln: error: {}\n", text);
  return 1;
}

int fail(const Error& error) {
  if (error.message.find(": error: ") != std::string::npos) {
    fmt::print(stderr, "{}\n", error.message);
    return 1;
  }
  return fail(error.message);
}

int write_stdout(std::string_view bytes) {
  tool::print(bytes);
  return 0;
}

Status check_single_output(const std::string& output,
                           const std::vector<std::filesystem::path>& inputs) {
  if (output == "-") return Ok{};
  if (Status status = tool::check_output(output, false); !status.ok()) return status;
  return tool::refuse_inputs({output}, inputs);
}

int write_single_output(const std::string& output, std::string_view bytes) {
  if (output == "-") return write_stdout(bytes);
  const Status status = tool::write_file(output, bytes);
  return status.ok() ? 0 : fail(status.error());
}

Result<Table> open_table_file(const std::string& path) {
  auto table = Table::from_file(path);
  if (table.ok()) return table;
  return Error{table.error().code, tool::with_shown(table.error().message, path)};
}

namespace {
constexpr auto kFirst = std::chrono::milliseconds(300), kEvery = std::chrono::milliseconds(100);
}  // namespace

Progress::Progress()
    : terminal_(::isatty(STDERR_FILENO) == 1), next_(std::chrono::steady_clock::now() + kFirst) {}

void Progress::show(std::size_t done, std::size_t all) {
  if (!terminal_) return;
  if (done == all) return clear();
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kEvery;
  shown_ = true;
  fmt::print(stderr, "\rspirkiln: {} of {} compiled\x1b[K", done, all);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!shown_) return;
  shown_ = false;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

void print_message(Severity severity, std::string_view text) {
  if (severity == Severity::kInfo) {
    fmt::print(stderr, "spirkiln: {}\n", text);
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

}  // namespace spirkiln::gen
