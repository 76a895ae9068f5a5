// SPDX-License-Identifier: Apache-2.0

#include "commands.hpp"
#include "compile_object.hpp"
#include "console.hpp"
#include "source_arguments.hpp"
#include "stats.hpp"
#include "watchdog.hpp"

namespace spirkiln::gen {

int run_compile(CompileArguments arguments) {
  ObjectOptions& options = arguments.options;
  fill(options, arguments.source);
  options.inputs = {arguments.manifest};
  if (!arguments.depfile.empty()) options.depfile = arguments.depfile;
  Progress progress;
  options.progress = [&](std::size_t done, std::size_t all) { progress.show(done, all); };
  const Stopwatch watch;
  const Watchdog watchdog(std::chrono::seconds(arguments.source.time_limit));
  const auto result = compile_object(options, print_message);
  if (!result.ok()) return fail(result.error());
  return print_stats(arguments.stats, *result, watch);
}

}  // namespace spirkiln::gen
