// SPDX-License-Identifier: Apache-2.0
// report, lock and diff: what people look at before they merge or ship a table.
#include <fmt/format.h>

#include "commands.hpp"
#include "console.hpp"
#include "files.hpp"
#include "size_report.hpp"
#include "table_diff.hpp"
#include "table_lock.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::uintmax_t kMaxLockBytes = 64u << 20;

// What is over its limit, as lines of errors.
std::string over_budget(const ReportArguments& arguments, const SizeReport& report) {
  std::string out;
  if (arguments.budget && report.file_bytes > *arguments.budget) {
    out += fmt::format("{}: error: the table has {} bytes, {} more than its budget of {}\n",
                       arguments.table, report.file_bytes, report.file_bytes - *arguments.budget,
                       *arguments.budget);
  }
  return out;
}

}  // namespace

int run_report(const ReportArguments& arguments) {
  const auto table = open_table_file(arguments.table);
  if (!table.ok()) return fail(table.error());
  const auto report = size_report(*table);
  if (!report.ok()) return fail(report.error());
  if (!arguments.html.empty()) {
    const Status possible = check_single_output(arguments.html, {arguments.table});
    if (!possible.ok()) return fail(possible.error());
    if (write_single_output(arguments.html, report_html(*report)) != 0) return 1;
  }
  const bool quiet = !arguments.html.empty() && !arguments.json;
  const int status =
      quiet ? 0 : write_stdout(arguments.json ? report_json(*report) : report_text(*report));
  if (const std::string over = over_budget(arguments, *report); !over.empty()) {
    print_message(Severity::kError, over.substr(0, over.size() - 1));
    return 1;
  }
  return status;
}

int run_lock(const LockArguments& arguments) {
  const auto table = open_table_file(arguments.table);
  if (!table.ok()) return fail(table.error());
  if (arguments.check.empty()) {
    const Status possible = check_single_output(arguments.output, {arguments.table});
    return possible.ok() ? write_single_output(arguments.output, lock_text(*table))
                         : fail(possible.error());
  }
  const auto text = read_file(arguments.check, kMaxLockBytes);
  if (!text.ok()) return fail(text.error());
  const auto checked = check_lock(*table, *text);
  if (!checked.ok()) return fail(fmt::format("{}: {}", arguments.check, checked.error().message));
  std::string out;
  for (const std::string& note : checked->notes) out += fmt::format("note: {}\n", note);
  if (const int status = write_stdout(out); status != 0) return status;
  if (checked->stale.empty()) return 0;
  for (const std::string& line : checked->stale) {
    print_message(Severity::kError, fmt::format("{}: error: {}", arguments.check, line));
  }
  return fail(fmt::format("{} is stale: review the differences, then 'spirkiln lock {} -o {}'",
                          arguments.check, arguments.table, arguments.check));
}

int run_diff(const DiffArguments& arguments) {
  const auto before = open_table_file(arguments.before);
  if (!before.ok()) return fail(before.error()) + 1;
  const auto after = open_table_file(arguments.after);
  if (!after.ok()) return fail(after.error()) + 1;
  const auto difference = diff_tables(*before, *after, arguments.disassembly);
  if (!difference.ok()) return fail(difference.error()) + 1;
  const int status = write_stdout(arguments.json ? diff_json(*difference) : diff_text(*difference));
  if (status != 0) return 2;
  return difference->empty() ? 0 : 1;
}

}  // namespace spirkiln::gen
