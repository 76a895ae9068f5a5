// SPDX-License-Identifier: Apache-2.0
// report, lock and diff: what people look at before they merge or ship a table.
#include <fmt/format.h>

#include <algorithm>

#include "budgets.hpp"
#include "commands.hpp"
#include "console.hpp"
#include "files.hpp"
#include "manifest.hpp"
#include "size_report.hpp"
#include "table_diff.hpp"
#include "table_lock.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::uintmax_t kMaxLockBytes = 64u << 20;
// Under other compilers nearly every module differs: the versions and some of them say so.
constexpr std::size_t kMaxNotes = 4;

// What is over its limit, as lines of errors.
Result<std::string> over_limits(const ReportArguments& arguments, const Table& table) {
  std::string out;
  const std::uint64_t bytes = table.header().total_bytes;
  if (arguments.budget && bytes > *arguments.budget) {
    out += fmt::format("{}: error: the table has {} bytes, {} more than its budget of {}",
                       shown(arguments.table), bytes, bytes - *arguments.budget, *arguments.budget);
  }
  if (arguments.manifests.empty()) return out;
  SourceStore sources;
  const auto manifests = load_manifests(arguments.manifests, sources);
  if (!manifests.ok()) return manifests.error();
  if (std::string missing = missing_from(table, *manifests); !missing.empty()) {
    return Error{ErrorCode::kInvalidArgument, std::move(missing)};
  }
  const std::string over = over_budget(table, *manifests);
  if (!out.empty() && !over.empty()) out += '\n';
  return out + over;
}

}  // namespace

int run_report(const ReportArguments& arguments) {
  const auto table = open_table_file(arguments.table);
  if (!table.ok()) return fail(table.error());
  const auto over = over_limits(arguments, *table);
  if (!over.ok()) return fail(over.error());
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
  if (!over->empty()) {
    print_message(Severity::kError, *over);
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
  const std::size_t shown_notes = std::min(checked->notes.size(), kMaxNotes);
  for (std::size_t i = 0; i < shown_notes; ++i) {
    out += fmt::format("note: {}\n", checked->notes[i]);
  }
  if (shown_notes < checked->notes.size()) {
    out += fmt::format("note: {} modules more differ\n", checked->notes.size() - shown_notes);
  }
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
