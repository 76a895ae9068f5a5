// SPDX-License-Identifier: Apache-2.0
#include "list.hpp"

#include <fmt/format.h>

#include "commands.hpp"
#include "console.hpp"
#include "source_arguments.hpp"
#include "watchdog.hpp"

namespace spirkiln::gen {
namespace {

int run_explain(const ListArguments& arguments) {
  SourceOptions options;
  options.inputs.assign(arguments.inputs.begin(), arguments.inputs.end());
  fill(options, arguments.source);
  const Watchdog watchdog(std::chrono::seconds(arguments.source.time_limit));
  const auto kernels = explain(options, print_message);
  if (!kernels.ok()) return fail(kernels.error());
  return write_stdout(arguments.json ? explain_json(*kernels) : explain_text(*kernels));
}

}  // namespace

int run_list(const ListArguments& arguments) {
  if (arguments.explain) return run_explain(arguments);
  if (arguments.inputs.size() != 1) {
    fmt::print(stderr, "spirkiln: error: 'list' shows one table\nTry 'spirkiln list --help'.\n");
    return 2;
  }
  const std::string& path = arguments.inputs.front();
  const auto table = open_table_file(path);
  if (!table.ok()) return fail(table.error());
  const auto text = arguments.json ? list_json(*table) : list_text(*table);
  if (!text.ok()) return fail(fmt::format("'{}': {}", path, text.error().message));
  return write_stdout(*text);
}

}  // namespace spirkiln::gen
